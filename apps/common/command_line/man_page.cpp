// Manual pages from the table of options.
#include "apps/common/command_line/cli_description.h"

#include <cctype>
#include <sstream>

namespace lenslet {
namespace {

// Escapes text for roff: '-' stays an ASCII hyphen that can be copied, and no line of text is read as a roff request.
std::string roff_escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool begins = result.empty() || result.back() == '\n';
    if (begins && (letter == '.' || letter == '\'')) result += "\\&";
    switch (letter) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '`':
        result += "\\(ga";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string bold(const std::string& text) { return concat("\\fB", roff_escaped(text), "\\fR"); }
std::string italic(const std::string& text) { return concat("\\fI", roff_escaped(text), "\\fR"); }

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// A row of a list: the term, then the text.
std::string row(const std::string& tag, const std::string& text) {
  return concat(".TP\n", tag, "\n", roff_escaped(text), "\n");
}

// Words in lower case are literal, the others are placeholders.
std::string placeholder(const std::string& text) {
  std::string result, part;
  const auto flush = [&] {
    if (part.empty()) return;
    result += std::isupper(static_cast<unsigned char>(part[0])) != 0 ? italic(part) : bold(part);
    part.clear();
  };
  for (const char letter : text) {
    if (letter != '|' && letter != ' ') {
      part += letter;
      continue;
    }
    flush();
    result += letter;
  }
  flush();
  return result;
}

std::string option_paragraphs(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
    if (!option.placeholder.empty()) names += " " + placeholder(option.placeholder);
    text += row(names, option.help);
  }
  return text;
}

// Remarks become paragraphs; indented lines stay as they are.
std::string footer_text(const std::string& footer) {
  std::string text, line;
  bool example = false, paragraph = false;
  for (std::istringstream lines(footer); std::getline(lines, line);) {
    const bool indented = line.compare(0, 2, "  ") == 0;
    if (indented != example) text += indented ? ".PP\n.EX\n" : ".EE\n";
    if (!indented && (example || !paragraph)) text += ".PP\n";
    text += roff_escaped(line) + "\n";
    example = indented;
    paragraph = !indented;
  }
  return example ? text + ".EE\n" : text;
}

std::string command_section(const Program& program, const Command& command) {
  std::string text = concat(".SS ", roff_escaped(command.name), "\n", roff_escaped(command.help), ".\n.PP\n",
                            bold(program.name + " " + command.name), " [", italic("options"), "]");
  for (const Option& argument : command.arguments) {
    text += concat(" [", placeholder(argument.placeholder), argument.repeated ? " ..." : "", "]");
  }
  text += "\n";
  for (const Option& argument : command.arguments) {
    text += row(placeholder(argument.placeholder), argument.help);
  }
  return text + option_paragraphs(command.options) + footer_text(command.footer);
}

}  // namespace

std::string man_page(const Program& program) {
  std::string text =
      concat(".\\\" As '", program.name, " man' prints it.\n.TH ", upper(program.name), " 1 ", program.date,
             " \"", program.name, " ", program.version, "\" \"User Commands\"\n");
  text += concat(".SH NAME\n", roff_escaped(program.name), " \\- ", roff_escaped(program.help),
                 "\n.SH SYNOPSIS\n", bold(program.name), " ", italic("command"), " [", italic("options"),
                 "] [", italic("arguments"), "]\n.br\n", bold(program.name), " ", bold("--help"), " | ",
                 bold("--version"), "\n.SH OPTIONS\n", option_paragraphs(program.options), ".SH COMMANDS\n");
  for (const Command& command : program.commands) text += command_section(program, command);
  text += ".SH \"EXIT STATUS\"\n";
  for (const auto& [code, meaning] : exit_codes()) text += row(bold(std::to_string(code)), meaning);
  if (!program.environment.empty()) {
    text += ".SH ENVIRONMENT\n";
    for (const auto& [variable, meaning] : program.environment) text += row(bold(variable), meaning);
  }
  return text;
}

}  // namespace lenslet
