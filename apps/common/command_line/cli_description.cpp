#include "apps/common/command_line/cli_description.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

void read_part(const std::string& part, ValueChoices& choices) {
  const size_t dot = part.find('.');
  if (part == "FILE") {
    choices.files = true;
  } else if (part == "DIR") {
    choices.folders = true;
  } else if (part == "LIST" || part == "SPEC") {
    choices.list = true;
  } else if (std::isupper(static_cast<unsigned char>(part[0])) == 0) {
    add_new(choices.words, {part.substr(0, part.find('['))});
  } else if (dot != std::string::npos) {
    choices.files = true;
    choices.ending = part.substr(dot);
  }
}

}  // namespace

ValueChoices value_choices(const Option& option) {
  ValueChoices choices;
  std::istringstream parts(replace_all(option.placeholder, "|", " "));
  for (std::string part; parts >> part;) read_part(part, choices);
  if (option.value) {
    const Suggestions more = option.value->suggestions();
    add_new(choices.words, more.words);
    choices.keys = more.keys;
  }
  return choices;
}

const std::vector<std::pair<int, std::string>>& exit_codes() {
  static const std::vector<std::pair<int, std::string>> codes = {{0, "ok"},
                                                                 {1, "a check failed"},
                                                                 {2, "usage"},
                                                                 {3, "input, model or data file"},
                                                                 {4, "device or backend unavailable"},
                                                                 {5, "CUDA or library error"},
                                                                 {6, "out of memory or workspace"},
                                                                 {7, "output could not be written"},
                                                                 {130, "interrupted"}};
  return codes;
}

std::string closing_words(const Program& program, size_t column) {
  std::string text =
      concat("Every command has --help with examples, such as: ", program.example, "\n\nEnvironment:\n");
  for (const auto& [variable, meaning] : program.environment) {
    const std::string name = concat("  ", variable);
    // A name too long for its column gets its own line, as in CLI11's list of options.
    const bool gap = name.size() + 2 <= column;
    text +=
        concat(name, gap ? "" : "\n", std::string(gap ? column - name.size() : column, ' '), meaning, "\n");
  }
  text += "\nExit codes:";
  for (const auto& [code, meaning] : exit_codes())
    text += concat(" ", code, " ", meaning, &meaning == &exit_codes().back().second ? "." : ",");
  return text;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace lenslet
