#include "apps/common/command_line/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/output/glossary.h"
#include "apps/common/output/output.h"
#include "apps/common/output/text.h"
#include "apps/common/system/environment.h"
#include "framework/base/choice_trace.h"
#include "framework/base/counted.h"
#include "framework/base/lists.h"
#include "framework/device/device_health.h"
#include "framework/device/device_memory.h"
#include "framework/graph/backend_spec.h"

namespace lenslet {
namespace {

// The help's text begins in this column, or further left on a narrow terminal.
constexpr size_t kHelpColumn = 34;
size_t help_column(size_t width) { return std::min(kHelpColumn, width * 2 / 5); }

// The options of `explain` and `completion`, and of `man`, which has none.
struct OwnOptions {
  std::vector<std::string> words;  // of one entry of the glossary; empty: list all
  std::vector<std::string> shells;
};
ExitCode run_nothing(const OwnOptions&) { return ExitCode::kOk; }

Suggestions glossary_suggestions() {
  Suggestions suggestions;
  for (const GlossaryEntry& entry : glossary()) {
    for (const std::string& word : entry.words) {
      if (word.find(' ') == std::string::npos) suggestions.words.push_back(word);
    }
  }
  return suggestions;
}

ExitCode run_explain(const OwnOptions& options) {
  Console console({});
  // "nearest ceiling" needs no quotes.
  const std::string text = options.words.empty() ? glossary_index() : explain(joined(options.words, " "));
  console.line(text.substr(0, text.size() - 1), 2);
  return ExitCode::kOk;
}

std::function<ExitCode()> printing(const std::string& text) {
  return [text] {
    write_standard_output(text);
    return ExitCode::kOk;
  };
}

std::string nearest_hint(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_match(word, candidates);
  return nearest.empty() ? std::string() : concat("; did you mean ", nearest, "?");
}

// Suggests the nearest match, if there is one, and points to --help.
std::string hint_and_help(const std::string& word, const std::vector<std::string>& candidates,
                          const std::string& command) {
  const std::string hint = nearest_hint(word, candidates);
  return concat(hint, hint.empty() ? "; see " : " See ", command, " --help");
}

// CLI11's messages quote arguments, whose length is unlimited.
std::string one_line(std::string text) {
  constexpr size_t kMaxBytes = 300;  // three lines of a terminal, as of printable_excerpt()
  text = printable(text);
  return text.size() > kMaxBytes ? text.substr(0, kMaxBytes) + "..." : text;
}

// CLI11's message, and of its "Could not convert: --strict = maybe" the flag and the value.
std::string reason_of(const CLI::ParseError& error) {
  const std::string text = error.what(), begin = "Could not convert: ", equals = " = ";
  const size_t value = text.find(equals);
  if (text.rfind(begin, 0) != 0 || value == std::string::npos) return one_line(text);
  return one_line(concat(text.substr(begin.size(), value - begin.size()), " takes no value, found '",
                         text.substr(value + equals.size()), "'"));
}

// CLI11's help, whose lines have any length, fitted to the width of tables. An example remains one command of a shell.
std::string fitted(const std::string& help, const std::string& program, size_t width) {
  const std::string example = concat("  ", program, " "), goes_on = " \\";
  const size_t column = help_column(width);
  std::string text;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    // The meaning of an option or variable stands after a gap; other lines go on indented.
    const bool in_columns = line.size() > column && line.compare(column - 2, 2, "  ") == 0;
    const size_t indent = in_columns ? column : std::min(line.find_first_not_of(' '), line.size()) + 2;
    if (line.size() > width && line.compare(0, example.size(), example) == 0) {
      const std::vector<std::string> parts = wrapped(line, width - goes_on.size(), indent);
      text += joined(parts, goes_on + "\n") + "\n";
    } else {
      text += joined(wrapped(line, width, indent), "\n") + "\n";
    }
  }
  return text;
}

// Reports the words that CLI11 could not assign. The nearest match is found by an option's name, without its value.
[[noreturn]] void throw_extras(const std::vector<std::string>& extras, const Program& program,
                               const Command& command) {
  const auto flag = std::find_if(extras.begin(), extras.end(), [](const std::string& extra) {
    return extra.size() > 1 && extra[0] == '-';
  });
  if (flag == extras.end()) {
    throw UsageError(concat(command.name, " does not take the argument '", one_line(extras.front()), "'"));
  }
  const std::string word = flag->substr(0, flag->find('='));
  std::vector<std::string> names;
  for (const Option& option : command.options) names.push_back(option.names.back());
  throw UsageError(concat(command.name, " has no option ", one_line(word),
                          hint_and_help(word, names, concat(program.name, " ", command.name))));
}

void add_to_parser(CLI::App& parser, const std::string& command, const Option& option) {
  const std::string& name = option.names.front();
  if (option.flag) {
    parser.add_flag(name, *option.flag, option.help);
    return;
  }
  if (!option.value) return;  // --help, which CLI11 adds to every parser
  const bool positional = name[0] != '-';
  const auto read = [&option, about = positional ? command : name, positional](const std::string& text) {
    // A file may have any name; the code that opens it reports an empty one.
    if (text.empty() && !positional)
      throw UsageError(concat(about, " expects ", option.placeholder, ", found an empty text"));
    option.value->read(about, text);
  };
  // A file is given once, since one of two would be lost. Of other values the last counts: it may replace a default.
  const bool once = !option.repeated && option.placeholder.rfind("FILE", 0) == 0;
  CLI::Option* const added = parser.add_option_function<std::vector<std::string>>(
      name,
      [read, name, once, repeated = option.repeated](const std::vector<std::string>& values) {
        if (once && values.size() > 1)
          throw UsageError(concat(name, " takes one value, found '", one_line(values[0]), "' and '",
                                  one_line(values[1]), "'; give it once"));
        if (!repeated) return read(values.back());
        for (const std::string& value : values) read(value);
      },
      option.help);
  added->type_name(option.placeholder);
  if (!positional) {
    added->type_size(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (!option.repeated) added->expected(1);  // else the help ends its placeholder with "..."
  }
}

Option help_row() {
  Option row;
  row.names = {"-h", "--help"};
  row.help = "Print this help and exit";
  return row;
}

// Validates the environment variables, also those that this command does not use, so that a wrong value is reported.
void check_settings() {
  (void)device_timeout_s();
  (void)device_memory_limit();
  (void)checks_layers();
  (void)traces_choices();
}

// The arguments that `help`, `help COMMAND` and `version` are short for, as in other programs; empty for other calls.
std::vector<const char*> expanded_arguments(int argc, const char* const* argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "version" && argc == 2) return {argv[0], "--version"};
  if (first == "help" && argc == 2) return {argv[0], "--help"};
  if (first == "help" && argc == 3 && argv[2][0] != '-') return {argv[0], argv[2], "--help"};
  return {};
}

}  // namespace

CommandLine::CommandLine(const std::string& program, const std::string& help, const std::string& example) {
  program_.name = program;
  program_.help = help;
  program_.version = program_version();
  program_.date = program_date();
  program_.example = example;
  Option version;
  version.names = {"--version"};
  version.help = "Print the version and exit";
  program_.options = {help_row(), version};
  environment("LENSLET_NUM_THREADS", "CPU threads, unless --threads is given");
  environment("LENSLET_MODULE_PATH", "folder of the modules for cuBLAS, cuDNN and oneDNN");
  environment("LENSLET_DEVICE_MEMORY_LIMIT",
              "most bytes to allocate on each device, such as 2G; the CPU is one");
  environment("LENSLET_DEVICE_TIMEOUT",
              "seconds to wait for a GPU before it counts as lost [120]; 0: no limit");
  environment("LENSLET_TRACE", "1: print every choice to stderr: device, plan, backend, library, algorithm");
  environment("LENSLET_CHECK_LAYERS", "1: wait after every layer, so that an error on a GPU names its layer");
}

void CommandLine::environment(const std::string& variable, const std::string& meaning) {
  program_.environment.emplace_back(variable, meaning);
}

Command& CommandLine::add_command(const std::string& name, const std::string& help,
                                  const std::string& footer) {
  Command command;
  command.name = name;
  command.help = help;
  command.footer = footer;
  command.options = {help_row()};
  program_.commands.push_back(std::move(command));
  return program_.commands.back();
}

void CommandLine::add_own_commands() {
  const std::string& name = program_.name;
  const auto explained =
      command("explain", "Explain a word of the tables: a backend, column, status or ceiling", run_explain,
              concat("Examples:\n  ", name, " explain winograd\n  ", name, " explain nearest ceiling\n  ",
                     name, " explain"));
  arguments("word", Text{"WORD", glossary_suggestions}, LENSLET_MEMBER(words),
            "a word of a table, result file or report; none: list them", explained);
  const auto shell =
      command("completion", "Print a completion script for bash or zsh", run_nothing,
              concat("Examples:\n  ", name, " completion bash > ~/.local/share/bash-completion/completions/",
                     name, "\n  ", name, " completion zsh > ~/.zfunc/_", name,
                     "\nThe folder for zsh has to be in $fpath before compinit runs."));
  arguments("shell", words({"bash", "zsh"}), LENSLET_MEMBER(shells), "the shell that reads the script", shell,
            1, 1);
  program_.commands.back().print = [this, shells = &std::get<0>(shell.entries).second->shells] {
    return shells->front() == "bash" ? bash_completion(program_) : zsh_completion(program_);
  };
  command("man", "Print the manual page", run_nothing, concat("Example:\n  ", name, " man | man -l -"));
  program_.commands.back().print = [this] { return man_page(program_); };
}

void CommandLine::add_option(Command& command, const std::string& name, const std::string& placeholder,
                             const std::string& help, std::shared_ptr<OptionValue> value) {
  add_repeated(command.options, name, placeholder, help, std::move(value));
  Option& row = command.options.back();
  row.repeated = false;
  if (!help.empty() && help.back() == ']') return;
  const std::string usual = row.value->show();
  if (!usual.empty()) row.help += concat(" [", usual, "]");
}

void CommandLine::add_repeated(std::vector<Option>& rows, const std::string& name,
                               const std::string& placeholder, const std::string& help,
                               std::shared_ptr<OptionValue> value) {
  Option row;
  row.names = {name};
  row.placeholder = placeholder;
  row.help = help;
  row.repeated = true;
  row.value = std::move(value);
  rows.push_back(std::move(row));
}

void CommandLine::add_flag(Command& command, const std::string& name, const std::string& help, bool& target) {
  Option row;
  row.names = {name};
  row.help = help;
  row.flag = &target;
  command.options.push_back(std::move(row));
}

void CommandLine::check_argument_count(const std::string& command, const std::string& placeholder,
                                       size_t count, size_t min_count, size_t max_count) {
  if (count >= min_count && count <= max_count) return;
  throw UsageError(concat(command, " expects ", placeholder, ", found ", counted(count, "argument")));
}

std::function<ExitCode()> CommandLine::parse(int argc, const char* const* argv) {
  const std::vector<const char*> meant = expanded_arguments(argc, argv);
  if (!meant.empty()) return parse(static_cast<int>(meant.size()), meant.data());
  add_own_commands();
  const std::string& program = program_.name;
  std::vector<std::string> names;
  for (const Command& command : program_.commands) names.push_back(command.name);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty())
    throw UsageError(concat("expected a command: ", listed(names, "or"), "; see ", program, " --help"));
  if (first[0] != '-' && std::find(names.begin(), names.end(), first) == names.end()) {
    throw UsageError(
        concat("there is no command '", one_line(first), "'", hint_and_help(first, names, program)));
  }
  if (first[0] == '-' && first != "--help" && first != "-h" && first != "--version") {
    const std::string hint = nearest_hint(first.substr(0, first.find('=')), {"--help", "--version"});
    throw UsageError(concat("there is no option ", one_line(first), " before the command", hint,
                            hint.empty() ? "; options" : " Options",
                            " follow the command: ", program_.example));
  }

  CLI::App parser(program_.help, program);
  parser.set_help_flag("-h,--help", program_.options.front().help);
  parser.set_version_flag("--version", version_line(program), program_.options.back().help);
  parser.require_subcommand(1);
  const size_t width = TableLook::of(STDOUT_FILENO).width;
  parser.get_formatter()->column_width(help_column(width));
  parser.footer(closing_words(program_, help_column(width)));
  std::vector<CLI::App*> parsers;
  for (const Command& command : program_.commands) {
    parsers.push_back(parser.add_subcommand(command.name, command.help));
    if (first[0] != '-' && command.name != first) continue;
    parsers.back()->footer(command.footer);
    for (const Option& argument : command.arguments) add_to_parser(*parsers.back(), command.name, argument);
    for (const Option& option : command.options) add_to_parser(*parsers.back(), command.name, option);
  }
  const auto parsed = [&]() -> size_t {
    return static_cast<size_t>(
        std::find_if(parsers.begin(), parsers.end(), [](const CLI::App* app) { return app->parsed(); }) -
        parsers.begin());
  };
  try {
    parser.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return printing(version_line(program) + "\n");
  } catch (const CLI::Success&) {  // --help
    const size_t at = parsed();
    return printing(
        fitted(at == parsers.size() ? parser.help() : parsers[at]->help(program), program, width));
  } catch (const CLI::ArgumentMismatch& error) {  // "--limit: 1 required N missing"
    const Command& command = program_.commands[parsed()];
    const std::string name = std::string(error.what()).substr(0, std::string(error.what()).find(':'));
    for (const Option& option : command.options) {
      if (option.names.back() == name)
        throw UsageError(concat(name, " expects ", option.placeholder, ", found no value; see ", program, " ",
                                command.name, " --help"));
    }
    throw UsageError(concat(command.name, ": ", one_line(error.what())));
  } catch (const CLI::ParseError& error) {
    const size_t at = parsed();
    if (at == parsers.size()) throw UsageError(concat(reason_of(error), "; see ", program, " --help"));
    const Command& command = program_.commands[at];
    const std::vector<std::string> extras = parser.remaining(true);
    if (!extras.empty()) throw_extras(extras, program_, command);
    throw UsageError(
        concat(command.name, ": ", reason_of(error), "; see ", program, " ", command.name, " --help"));
  }
  const Command& command = program_.commands[parsed()];  // one is required
  try {
    for (const auto& rule : command.rules) rule();
  } catch (const UsageError& error) {
    throw UsageError(concat(error.what(), "; see ", program, " ", command.name, " --help"));
  }
  if (command.print) return printing(command.print());
  check_settings();
  return command.run;
}

}  // namespace lenslet
