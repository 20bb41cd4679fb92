// A program's command line as data: the table of its options. The parser, --help, the manual page, the completions and
// the fuzz target are generated from it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace lenslet {

/// Completions of a value besides the words of the option's placeholder.
struct Suggestions {
  /// A word that is followed by '=' and one of `words`: conv1=direct.
  struct Key {
    std::string name;
    std::vector<std::string> words;
  };
  std::vector<std::string> words;
  std::vector<Key> keys;
};

/// Stores an option's value in a member of a command's options. option_values.h creates them.
class OptionValue {
 public:
  virtual ~OptionValue() = default;
  /// Throws UsageError for an invalid value; `name` is the option's name.
  virtual void read(const std::string& name, const std::string& text) = 0;
  /// The current value in the form that read() parses; empty if there is none.
  virtual std::string show() const = 0;
  /// Whether read() would accept the current value.
  virtual bool legal() const = 0;
  /// Called only to generate a completion script.
  virtual Suggestions suggestions() const = 0;
};

/// An option, a flag, or a positional argument.
struct Option {
  std::vector<std::string> names;  // "-h", "--help"; for an argument its name in the help
  /// The form of the value, alternatives separated by `|`; empty for a flag. Words in lower case are literal
  /// (`cuda[:N]` offers cuda); FILE, FILE.png and DIR are names of files and folders; LIST and SPEC are comma-separated
  /// values; any other word in upper case is free text.
  std::string placeholder;
  std::string help;
  bool repeated = false;
  bool* flag = nullptr;  // the target of a flag
  std::shared_ptr<OptionValue> value = nullptr;
};

/// A subcommand.
struct Command {
  std::string name, help;
  std::string footer;  // remarks and examples; an example is indented by two spaces
  std::vector<Option> options, arguments;
  std::function<ExitCode()> run = nullptr;
  std::function<std::string()> print = nullptr;  // instead of `run`: text about the command line itself
  /// Each throws UsageError for options that exclude or need each other.
  std::vector<std::function<void()>> rules;
};

struct Program {
  std::string name, help;
  std::string version, date;  // "0.2.0", "2026-01-31"
  std::string example;        // a whole command: "lenslet eval --device cpu"
  std::vector<Option> options;
  std::deque<Command> commands;
  std::vector<std::pair<std::string, std::string>> environment;  // variable and meaning
};

/// The words and files that a completion offers for a value.
struct ValueChoices {
  std::vector<std::string> words;
  std::vector<Suggestions::Key> keys;
  bool list = false;  // several, separated by commas
  bool files = false, folders = false;
  std::string ending;  // required ending of the files, such as ".json"; empty: any
};

/// Parses the placeholder and adds the suggestions.
ValueChoices value_choices(const Option& option);

/// The exit codes of both programs and what they mean.
const std::vector<std::pair<int, std::string>>& exit_codes();

/// The end of a program's --help: example, environment variables, exit codes. Lines have any length; the variables'
/// meanings begin in that column.
std::string closing_words(const Program& program, size_t column);

/// The manual page in section 1, as man macros for groff and mandoc.
std::string man_page(const Program& program);
/// A script for bash 4.3 or later, to be sourced or placed in a bash-completion folder. Requires only bash.
std::string bash_completion(const Program& program);
/// A script for zsh, to be placed in a folder of $fpath as _<program>, or sourced after compinit.
std::string zsh_completion(const Program& program);

/// `text` with every occurrence of `from` replaced.
std::string replace_all(std::string text, const std::string& from, const std::string& to);

}  // namespace lenslet
