// The script passes one specification per option to zsh's _arguments; zsh handles the rest, including `--flag=value`.
#include "apps/common/command_line/cli_description.h"
#include "framework/base/text.h"

namespace lenslet {
namespace {

// Text inside single quotes; the characters that _arguments and _values interpret are escaped.
std::string zsh_escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
      continue;
    }
    if (letter == '\\' || letter == ':' || letter == '[' || letter == ']') result += '\\';
    result += letter;
  }
  return result;
}

std::string joined(const std::vector<std::string>& words) { return zsh_escaped(lenslet::joined(words, " ")); }

// A command as the last part of a specification, whose parts are separated by colons.
std::string run(const std::string& command) { return concat("{", replace_all(command, ":", "\\:"), "}"); }

// The completion of a value, as the last part of a specification; a space if there is none.
std::string action(const ValueChoices& choices) {
  const std::string files = choices.folders && !choices.files ? "_files -/"
                            : choices.ending.empty()          ? "_files"
                                                              : concat("_files -g \"*", choices.ending, "\"");
  const bool has_files = choices.files || choices.folders;
  if (choices.list) {
    if (choices.words.empty()) return " ";
    std::string values = concat("_values -s , value ", joined(choices.words));
    for (const Suggestions::Key& key : choices.keys) {
      // An unescaped '*' would make _values treat the rest as repeatable.
      values += concat(" \"", key.name == "*" ? "\\*" : zsh_escaped(key.name), "[layer]:value:(",
                       joined(key.words), ")\"");
    }
    return run(values);
  }
  if (choices.words.empty()) return has_files ? files : " ";
  if (!has_files) return concat("(", joined(choices.words), ")");
  return run(concat("_alternative \"words:value:(", joined(choices.words),
                    ")\" \"files:file:", replace_all(files, "\"", "\\\""), "\""));
}

// Each name of an option is a specification of its own and excludes the others.
std::string option_rows(const Option& option, const std::string& indent) {
  const std::string names = lenslet::joined(option.names, " ");
  std::string rows;
  for (const std::string& name : option.names) {
    const bool ends = name == "--help" || name == "-h" || name == "--version";
    const std::string before = ends ? "(- *)" : option.repeated ? "*" : concat("(", names, ")");
    const std::string value = option.placeholder.empty() ? ""
                                                         : concat(":", zsh_escaped(option.placeholder), ":",
                                                                  action(value_choices(option)));
    rows += concat(indent, "'", before, name, value.empty() ? "" : "=", "[", zsh_escaped(option.help), "]",
                   value, "'\n");
  }
  return rows;
}

std::string command_case(const Command& command) {
  const std::string indent = "        ";
  std::string text = concat("    ", command.name, ")\n      specs=(\n");
  for (const Option& option : command.options) text += option_rows(option, indent);
  for (const Option& argument : command.arguments) {
    text +=
        concat(indent, "'*:", zsh_escaped(argument.placeholder), ":", action(value_choices(argument)), "'\n");
  }
  return text + "      )\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const Program& program) {
  const std::string& name = program.name;
  std::string script = concat("#compdef ", name, "\n# zsh completion of ", name, " ", program.version,
                              ", as '", name, " completion zsh' prints it.\n\n_", name,
                              "() {\n  local curcontext=$curcontext state line\n  local -a specs commands\n"
                              "  typeset -A opt_args\n  commands=(\n");
  for (const Command& command : program.commands) {
    script += concat("    '", command.name, ":", zsh_escaped(command.help), "'\n");
  }
  script += "  )\n  _arguments -C -S \\\n";
  for (const Option& option : program.options) {
    script += replace_all(option_rows(option, "    "), "\n", " \\\n");
  }
  script +=
      "    '1:command:->command' '*::argument:->argument' && return 0\n"
      "  if [[ $state == command ]]; then\n    _describe -t commands command commands\n    return\n  fi\n"
      "  case $line[1] in\n";
  for (const Command& command : program.commands) script += command_case(command);
  return script + concat("    *) return 1 ;;\n  esac\n  _arguments -S $specs\n}\n\n",
                         "if [[ $funcstack[1] == _", name, " ]]; then\n  _", name,
                         " \"$@\"\nelse\n  compdef _", name, " ", name, "\nfi\n");
}

}  // namespace lenslet
