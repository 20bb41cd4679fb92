// A program's command line as data: the table of its options, from which come the parser, --help, the manual page, the
// completions and the fuzz target.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/error.h"

namespace lenslet {

/// What a completion offers for a value beside what the option's placeholder says.
struct Suggestions {
  /// A word that '=' and one of its own words follow: conv1=direct.
  struct Key {
    std::string name;
    std::vector<std::string> words;
  };
  std::vector<std::string> words;
  std::vector<Key> keys;
};

/// Where an option's value goes: a member of a command's options. option_values.h makes them.
class OptionValue {
 public:
  virtual ~OptionValue() = default;
  /// Throws UsageError for a bad value; `name` is the option's.
  virtual void read(const std::string& name, const std::string& text) = 0;
  /// The current value as read() takes it; empty: none.
  virtual std::string show() const = 0;
  /// Whether the current value is one that read() may accept.
  virtual bool legal() const = 0;
  /// Called only when a completion script is made.
  virtual Suggestions suggestions() const = 0;
};

/// An option, a flag, or an argument without a name of its own on the command line.
struct Option {
  std::vector<std::string> names;  // "-h", "--help"; of an argument its name in the help
  /// What the value may be, alternatives between `|`; empty for a flag. Words in lower case stand for themselves
  /// (`cuda[:N]` for cuda), FILE, FILE.png and DIR for names of files and folders, LIST and SPEC for values between
  /// commas; any other word in upper case is free text.
  std::string placeholder;
  std::string help;
  bool repeated = false;
  bool* flag = nullptr;  // where a flag goes
  std::shared_ptr<OptionValue> value = nullptr;
};

/// A subcommand.
struct Command {
  std::string name, help;
  std::string footer;  // remarks and examples; an example is indented by two blanks
  std::vector<Option> options, arguments;
  std::function<ExitCode()> run = nullptr;
  std::function<std::string()> print = nullptr;  // instead of `run`: text about the command line itself
  std::vector<std::function<void()>>
      rules;  // each throws UsageError for options that exclude or need each other
};

struct Program {
  std::string name, help;
  std::string version, date;  // "0.2.0", "2026-01-31"
  std::string example;        // a whole command: "lenslet eval --device cpu"
  std::vector<Option> options;
  std::deque<Command> commands;
  std::vector<std::pair<std::string, std::string>> environment;  // variable and meaning
};

/// What may stand for a value.
struct ValueChoices {
  std::vector<std::string> words;
  std::vector<Suggestions::Key> keys;
  bool list = false;  // several, with commas between them
  bool files = false, folders = false;
  std::string ending;  // of the files, ".json"; empty for any
};

/// Reads the placeholder and adds the suggestions.
ValueChoices value_choices(const Option& option);

/// The exit codes of both programs and what they mean.
const std::vector<std::pair<int, std::string>>& exit_codes();

/// The end of a program's --help: its example, the environment, the exit codes.
std::string closing_words(const Program& program);

/// The manual page: section 1, in the man macros that groff and mandoc read.
std::string man_page(const Program& program);
/// A script for bash 4.3 or later, to be sourced or put where bash-completion looks. It needs nothing beside bash.
std::string bash_completion(const Program& program);
/// A script for zsh, to be put into a folder of $fpath as _<program>, or sourced after compinit.
std::string zsh_completion(const Program& program);

/// `text` with every `from` replaced.
std::string replace_all(std::string text, const std::string& from, const std::string& to);

}  // namespace lenslet
