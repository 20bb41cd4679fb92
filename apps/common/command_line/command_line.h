// The command line of both programs: a table with one row per option.
//
//   CommandLine line("lenslet", "LeNet-5 inference", "lenslet eval --device cpu");
//   const auto eval = line.command("eval", "Count correct digits", run_eval, "Examples:\n  lenslet eval");
//   line.option("--limit", Integer{1}, LENSLET_MEMBER(limit), "evaluate only the first N images", eval);
//
// CLI11 parses. Only command_line.cpp includes it, because it adds seven seconds to a translation unit. Values are
// parsed by their kind (option_values.h), because CLI11's own parsers accept 0x10 and 1e3.
#pragma once

#include <memory>
#include <tuple>

#include "apps/common/command_line/option_values.h"

namespace lenslet {

/// Names a member of a command's options, also of a nested struct: LENSLET_MEMBER(measure.cold).
// NOLINTBEGIN(bugprone-macro-parentheses): a name of a member takes none
#define LENSLET_MEMBER(member) \
  [](auto& options) -> auto& { return options.member; }
// NOLINTEND(bugprone-macro-parentheses)

/// The subcommands that have an option, each with its options struct: `eval | profile`.
template <typename... Options>
struct Commands {
  /// Indices into Program::commands.
  std::tuple<std::pair<size_t, std::shared_ptr<Options>>...> entries;
};
template <typename... A, typename... B>
Commands<A..., B...> operator|(const Commands<A...>& a, const Commands<B...>& b) {
  return {std::tuple_cat(a.entries, b.entries)};
}

/// A program with subcommands, --help and --version. Three subcommands are built in: `explain` explains the words of
/// tables, `completion` prints a completion script for a shell, `man` the manual page, both generated from the table.
class CommandLine {
 public:
  /// `example` is a complete command for messages: "lenslet eval --device cpu".
  CommandLine(const std::string& program, const std::string& help, const std::string& example);

  /// An environment variable that the program reads, for help and manual page.
  void environment(const std::string& variable, const std::string& meaning);

  /// A subcommand. `run` receives the options struct that the rows fill. `footer` ends its help: remarks, examples.
  template <typename Options>
  Commands<Options> command(const std::string& name, const std::string& help, ExitCode (*run)(const Options&),
                            const std::string& footer) {
    auto options = std::make_shared<Options>();
    add_command(name, help, footer).run = [options, run] { return run(*options); };
    return {{{program_.commands.size() - 1, std::move(options)}}};
  }

  /// `--name VALUE`; the last occurrence wins, but a FILE may be given once. The help shows the member's initial value
  /// in brackets, unless the help text itself ends with brackets.
  template <typename Kind, typename Member, typename... Options>
  void option(const std::string& name, const Kind& kind, Member member, const std::string& help,
              const Commands<Options...>& commands) {
    each(commands, [&](Command& command, auto& options) {
      add_option(command, name, kind.placeholder(), help, bind(kind, member(options)));
    });
  }

  /// An option that may be repeated; each value is appended to the member.
  template <typename Kind, typename Member, typename... Options>
  void repeated(const std::string& name, const Kind& kind, Member member, const std::string& help,
                const Commands<Options...>& commands) {
    each(commands, [&](Command& command, auto& options) {
      add_repeated(command.options, name, kind.placeholder(), help,
                   std::make_shared<AppendedValues<Kind>>(kind, member(options)));
    });
  }

  /// `--name` without a value sets the member to true.
  template <typename Member, typename... Options>
  void flag(const std::string& name, Member member, const std::string& help,
            const Commands<Options...>& commands) {
    each(commands, [&](Command& command, auto& options) { add_flag(command, name, help, member(options)); });
  }

  /// Positional arguments, from `min_count` to `max_count` of them.
  template <typename Kind, typename Member, typename... Options>
  void arguments(const std::string& name, const Kind& kind, Member member, const std::string& help,
                 const Commands<Options...>& commands, size_t min_count = 0, size_t max_count = SIZE_MAX) {
    each(commands, [&](Command& command, auto& options) {
      auto& target = member(options);
      add_repeated(command.arguments, name, kind.placeholder(), help,
                   std::make_shared<AppendedValues<Kind>>(kind, target));
      command.rules.push_back(
          [this_name = command.name, what = kind.placeholder(), min_count, max_count, &target] {
            check_argument_count(this_name, what, target.size(), min_count, max_count);
          });
    });
  }

  /// Options that exclude or require each other: where `broken(options)` is true, `message` is a usage error.
  template <typename Predicate, typename... Options>
  void refuse(const std::string& message, Predicate broken, const Commands<Options...>& commands) {
    each(commands, [&](Command& command, auto& options) {
      command.rules.push_back([message, broken, &options] {
        if (broken(options)) throw UsageError(message);
      });
    });
  }

  /// Returns the command to run, or a function that prints help, version, manual page or completion script. Call it
  /// once. Throws UsageError with a single line that names the nearest match of an unknown word.
  std::function<ExitCode()> parse(int argc, const char* const* argv);

  /// The table as data.
  const Program& program() const noexcept { return program_; }

 private:
  template <typename Action, typename... Options>
  void each(const Commands<Options...>& commands, Action action) {
    std::apply([&](const auto&... entry) { (action(program_.commands[entry.first], *entry.second), ...); },
               commands.entries);
  }
  template <typename Kind, typename T>
  static std::shared_ptr<OptionValue> bind(const Kind& kind, T& target) {
    return std::make_shared<MemberValue<Kind, T>>(kind, target);
  }
  static void add_option(Command& command, const std::string& name, const std::string& placeholder,
                         const std::string& help, std::shared_ptr<OptionValue> value);
  static void add_repeated(std::vector<Option>& rows, const std::string& name, const std::string& placeholder,
                           const std::string& help, std::shared_ptr<OptionValue> value);
  static void add_flag(Command& command, const std::string& name, const std::string& help, bool& target);
  static void check_argument_count(const std::string& command, const std::string& placeholder, size_t count,
                                   size_t min_count, size_t max_count);
  Command& add_command(const std::string& name, const std::string& help, const std::string& footer);
  void add_own_commands();

  Program program_;
};

}  // namespace lenslet
