#include "apps/common/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <map>

#include "apps/common/completion.h"
#include "apps/common/environment.h"
#include "apps/common/man_page.h"
#include "apps/common/option_values.h"
#include "apps/common/output.h"
#include "apps/common/text.h"
#include "framework/backend_spec.h"
#include "framework/choice_trace.h"
#include "framework/device_health.h"
#include "framework/device_memory.h"

namespace lenslet {

struct Command::Handle {
  CLI::App* app;
  std::map<std::string, std::function<Suggestions()>> suggestions;  // by option
};

struct CommandLine::State {
  CLI::App app;
  std::string program, example;
  struct Entry {
    Command::Handle handle;
    std::function<ExitCode()> run;
    // Instead of `run`: text about the command line itself, made while parsing.
    std::function<std::string()> print;
  };
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> shells;  // arguments of `completion`

  State(const std::string& name, const std::string& description) : app(description, name), program(name) {}
  Entry& add(const std::string& name, const std::string& help) {
    entries.push_back(std::make_unique<Entry>());
    entries.back()->handle.app = app.add_subcommand(name, help);
    return *entries.back();
  }
  void add_own_commands();
  std::string completion() const;
  ProgramDescription describe() const;
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : entries) names.push_back(entry->handle.app->get_name());
    return names;
  }
};

namespace {

constexpr double kHourMs = 3.6e6;

OptionDescription describe_option(const CLI::Option& option) {
  OptionDescription result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  if (result.names.empty()) result.names.push_back(option.get_name());
  if (option.get_items_expected_max() > 0) result.placeholder = option.get_type_name();
  result.help = option.get_description();
  result.repeated = option.get_items_expected_max() > 1;
  return result;
}

CLI::Option* add_option(CLI::App& app, const std::string& name, const std::string& placeholder,
                        const std::string& help, Command::Read read) {
  return app.add_option_function<std::string>(name, std::move(read), help)
      ->type_name(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::string nearest_hint(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_match(word, candidates);
  return nearest.empty() ? std::string() : concat("; did you mean ", nearest, "?");
}

// The nearest match as a question, where there is one, and where to look.
std::string hint_and_help(const std::string& word, const std::vector<std::string>& candidates,
                          const std::string& command) {
  const std::string hint = nearest_hint(word, candidates);
  return concat(hint, hint.empty() ? "; see " : " See ", command, " --help");
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "--limit: 1 required TEXT missing" and the like; long ones are cut, an argument may have any length.
std::string one_line(std::string text) {
  constexpr size_t kLongest = 300;
  text = printable(text);
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

// What CLI11 could not place. Only the flag's name matters for the nearest match, not its value.
[[noreturn]] void throw_unexpected(const CLI::App& app, const CLI::App& subcommand) {
  const std::vector<std::string> extras = app.remaining(true);
  std::string word = extras.empty() ? std::string() : extras.front();
  for (const std::string& extra : extras) {
    if (extra.size() > 1 && extra[0] == '-') {
      word = extra;
      break;
    }
  }
  if (word.size() < 2 || word[0] != '-') {
    throw UsageError(concat(subcommand.get_name(), " does not take the argument '", one_line(word), "'"));
  }
  word = word.substr(0, word.find('='));
  throw UsageError(concat(
      subcommand.get_name(), " has no option ", one_line(word),
      hint_and_help(word, flag_names(subcommand), concat(app.get_name(), " ", subcommand.get_name()))));
}

}  // namespace

void CommandLine::State::add_own_commands() {
  Entry& shell = add("completion", "Print a completion script for bash or zsh");
  shell.print = [this] { return completion(); };
  Command command(&shell.handle);
  command.arguments("shell", "bash|zsh", shells, "the shell that reads the script");
  command.footer(concat("Examples:\n  ", program,
                        " completion bash > ~/.local/share/bash-completion/completions/", program, "\n  ",
                        program, " completion zsh > ~/.zfunc/_", program,
                        "\nThe folder for zsh has to be in $fpath before compinit runs."));
  Entry& manual = add("man", "Print the manual page");
  manual.print = [this] { return man_page(describe()); };
  Command(&manual.handle).footer(concat("Example:\n  ", program, " man | man -l -"));
}

std::string CommandLine::State::completion() const {
  if (shells == std::vector<std::string>{"bash"}) return bash_completion(describe());
  if (shells == std::vector<std::string>{"zsh"}) return zsh_completion(describe());
  throw UsageError(concat("completion expects one shell, bash or zsh, found ",
                          shells.empty()      ? std::string("none")
                          : shells.size() > 1 ? concat(shells.size(), " words")
                                              : concat("'", one_line(shells.front()), "'")));
}

ProgramDescription CommandLine::State::describe() const {
  ProgramDescription result{program, app.get_description(), program_version(), program_date(), {},
                            {},      environment,           exit_codes()};
  for (const CLI::Option* option : app.get_options()) result.options.push_back(describe_option(*option));
  for (const auto& entry : entries) {
    const CLI::App& sub = *entry->handle.app;
    CommandDescription command{sub.get_name(), sub.get_description(), {}, {}, sub.get_footer()};
    for (const CLI::Option* option : sub.get_options()) {
      OptionDescription described = describe_option(*option);
      const auto found = entry->handle.suggestions.find(described.names.back());
      if (found != entry->handle.suggestions.end()) described.suggestions = found->second();
      (option->get_positional() ? command.arguments : command.options).push_back(std::move(described));
    }
    result.commands.push_back(std::move(command));
  }
  return result;
}

void Command::option(const std::string& name, const std::string& placeholder, const std::string& help,
                     Read read) {
  add_option(*handle_->app, name, placeholder, help, std::move(read));
}

void Command::repeated(const std::string& name, const std::string& placeholder, const std::string& help,
                       Read read) {
  handle_->app
      ->add_option_function<std::vector<std::string>>(
          name,
          [read = std::move(read)](const std::vector<std::string>& values) {
            for (const std::string& value : values) read(value);
          },
          help)
      ->type_name(placeholder)
      ->type_size(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Command::text(const std::string& name, const std::string& placeholder, std::string& target,
                   const std::string& help) {
  option(name, placeholder, help, [&target, name](const std::string& value) {
    if (value.empty()) throw UsageError(concat(name, " expects a value, found an empty text"));
    target = value;
  });
}

void Command::choice(const std::string& name, const std::vector<std::string>& choices,
                     const std::string& help, Read read) {
  std::string listed;
  for (const std::string& word : choices) listed += (listed.empty() ? "" : "|") + word;
  option(name, listed, help, [name, choices, listed, read = std::move(read)](const std::string& value) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      throw UsageError(concat(name, " expects ", listed, ", found '", printable(value), "'"));
    }
    read(value);
  });
}

void Command::count(const std::string& name, int64_t min, std::optional<int64_t>& target,
                    const std::string& help) {
  option(name, "N", help, [&target, name, min](const std::string& value) {
    target = parse_integer(name, value, min, std::numeric_limits<int64_t>::max());
  });
}

void Command::integer(const std::string& name, int64_t min, int64_t max, int64_t& target,
                      const std::string& help) {
  option(name, "N", help, [&target, name, min, max](const std::string& value) {
    target = parse_integer(name, value, min, max);
  });
}

void Command::milliseconds(const std::string& name, double& target, const std::string& help) {
  option(name, "MS", help,
         [&target, name](const std::string& value) { target = parse_number(name, value, 0, kHourMs); });
}

void Command::flag(const std::string& name, bool& target, const std::string& help) {
  handle_->app->add_flag(name, target, help);
}

void Command::arguments(const std::string& name, const std::string& placeholder,
                        std::vector<std::string>& target, const std::string& help) {
  handle_->app->add_option(name, target, help)->type_name(placeholder);
}

void Command::suggest(const std::string& name, std::function<Suggestions()> suggestions) {
  handle_->suggestions[name] = std::move(suggestions);
}

void Command::footer(const std::string& text) { handle_->app->footer(text); }

CommandLine::CommandLine(const std::string& program, const std::string& description,
                         const std::string& example)
    : state_(std::make_unique<State>(program, description)) {
  state_->example = example;
  state_->app.set_version_flag("--version", version_line(program));
  state_->app.require_subcommand(1);
  state_->app.get_formatter()->column_width(34);
}

CommandLine::~CommandLine() = default;

Command CommandLine::command(const std::string& name, const std::string& help,
                             std::function<ExitCode()> run) {
  State::Entry& entry = state_->add(name, help);
  entry.run = std::move(run);
  return Command(&entry.handle);
}

void CommandLine::environment(const std::string& variable, const std::string& meaning) {
  state_->environment.emplace_back(variable, meaning);
}

namespace {

// Also what this command never reads: a typing error must not go unnoticed.
void check_settings() {
  (void)device_timeout_s();
  (void)device_memory_limit();
  (void)checks_layers();
  (void)traces_choices();
}

}  // namespace

std::function<ExitCode()> CommandLine::parse(int argc, const char* const* argv) {
  CLI::App& app = state_->app;
  const std::string& program = state_->program;
  app.footer(closing_words(state_->example, state_->environment));
  state_->add_own_commands();
  const std::vector<std::string> names = state_->names();
  const auto expected = [&] {
    std::string listed;
    for (size_t i = 0; i < names.size(); ++i) {
      listed += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    }
    return UsageError(concat("expected a command: ", listed, "; see ", program, " --help"));
  };
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty()) throw expected();
  if (first[0] != '-' && std::find(names.begin(), names.end(), first) == names.end()) {
    throw UsageError(
        concat("there is no command '", one_line(first), "'", hint_and_help(first, names, program)));
  }
  if (first[0] == '-' && first != "--help" && first != "-h" && first != "--version") {
    throw UsageError(concat("there is no option ", one_line(first), " before the command",
                            nearest_hint(first.substr(0, first.find('=')), {"--help", "--version"}),
                            "; options follow the command: ", state_->example));
  }
  const auto parsed = [&]() -> const State::Entry* {
    for (const auto& entry : state_->entries) {
      if (entry->handle.app->parsed()) return entry.get();
    }
    return nullptr;
  };
  const auto print = [](const std::string& text) {
    return [text] {
      write_standard_output(text);
      return ExitCode::kOk;
    };
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    if (dynamic_cast<const CLI::CallForVersion*>(&asked) != nullptr)
      return print(version_line(program) + "\n");
    const State::Entry* about = parsed();
    return print(about == nullptr ? app.help() : about->handle.app->help(program));
  } catch (const CLI::ParseError& error) {
    const State::Entry* about = parsed();
    if (about == nullptr) throw UsageError(concat(one_line(error.what()), "; see ", program, " --help"));
    const CLI::App& sub = *about->handle.app;
    if (!app.remaining(true).empty()) throw_unexpected(app, sub);
    throw UsageError(concat(sub.get_name(), ": ", one_line(error.what()), "; see ", program, " ",
                            sub.get_name(), " --help"));
  }
  const State::Entry* chosen = parsed();
  if (chosen == nullptr) throw expected();
  if (chosen->print) return print(chosen->print());
  check_settings();
  return chosen->run;
}

std::vector<std::string> split_list(const std::string& option, const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma == std::string::npos ? comma : comma - begin));
    if (parts.back().empty()) {
      throw UsageError(
          concat(option, " expects values separated by single commas, found '", printable(text), "'"));
    }
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

}  // namespace lenslet
