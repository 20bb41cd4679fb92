// A program's command line as data: what its completion scripts and its man page are made from.
//
// CommandLine fills it from the parser itself, so that neither can tell of an option that is not there.
#pragma once

#include <string>
#include <utility>
#include <vector>

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

/// An option, a flag, or an argument without a name of its own on the command line.
struct OptionDescription {
  std::vector<std::string> names;  // "-h", "--help"; of an argument its name in the help
  std::string placeholder;         // of the value, as Command::option explains it; empty for a flag
  std::string help;
  bool repeated = false;
  Suggestions suggestions;
};

struct CommandDescription {
  std::string name, help;
  std::vector<OptionDescription> options, arguments;
  std::string footer;  // remarks and examples; an example is indented by two blanks
};

struct ProgramDescription {
  std::string name, help;
  std::string version, date;  // "0.2.0", "2026-01-31"
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
  std::vector<std::pair<std::string, std::string>> environment;  // variable and meaning
  std::vector<std::pair<int, std::string>> exit_codes;
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
ValueChoices value_choices(const OptionDescription& option);

/// The exit codes of both programs and what they mean.
const std::vector<std::pair<int, std::string>>& exit_codes();

/// What a program's --help ends with: an example, the environment, the exit codes.
std::string closing_words(const std::string& example,
                          const std::vector<std::pair<std::string, std::string>>& environment);

/// `text` with every `from` replaced.
std::string replace_all(std::string text, const std::string& from, const std::string& to);

}  // namespace lenslet
