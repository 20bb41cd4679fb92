// The command line that both programs share: subcommands, strictly read options, one clear error for each mistake.
//
// CLI11 does the parsing and is seen by command_line.cpp alone: it costs seven seconds a translation unit. Values are
// read as text and parsed by option_values.h, because CLI11's own parsers take 0x10 and 1e3.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/cli_description.h"
#include "framework/error.h"

namespace lenslet {

/// One subcommand.
class Command {
 public:
  using Read = std::function<void(const std::string&)>;
  struct Handle;  // of the parser
  explicit Command(Handle* handle) : handle_(handle) {}

  /// `--name PLACEHOLDER`; the last one given counts. `read` throws UsageError for a bad value.
  ///
  /// The placeholder says what may be given, alternatives between `|`, and completion offers it: words in lower case
  /// stand for themselves (`cuda[:N]` for cuda), FILE, FILE.png and DIR for names of files and folders, LIST and SPEC
  /// for values between commas; any other in upper case is a text of its own.
  void option(const std::string& name, const std::string& placeholder, const std::string& help, Read read);
  /// An option that may be given again and again; `read` sees each value.
  void repeated(const std::string& name, const std::string& placeholder, const std::string& help, Read read);
  /// Any text but the empty one.
  void text(const std::string& name, const std::string& placeholder, std::string& target,
            const std::string& help);
  /// One of a few words.
  void choice(const std::string& name, const std::vector<std::string>& choices, const std::string& help,
              Read read);
  /// A decimal integer from `min`.
  void count(const std::string& name, int64_t min, std::optional<int64_t>& target, const std::string& help);
  /// A decimal integer from `min` to `max`.
  void integer(const std::string& name, int64_t min, int64_t max, int64_t& target, const std::string& help);
  /// Milliseconds, an hour at most.
  void milliseconds(const std::string& name, double& target, const std::string& help);
  void flag(const std::string& name, bool& target, const std::string& help);
  /// Arguments without a name, any number of them.
  void arguments(const std::string& name, const std::string& placeholder, std::vector<std::string>& target,
                 const std::string& help);
  /// What completion offers for the option beside what its placeholder says; asked only when a script is made.
  void suggest(const std::string& name, std::function<Suggestions()> suggestions);
  /// Ends the help: examples.
  void footer(const std::string& text);

 private:
  Handle* handle_;
};

/// A program of subcommands with --help and --version, and with two subcommands of its own: `completion` prints a
/// completion script for a shell, `man` the manual page, both made from the other subcommands' options.
class CommandLine {
 public:
  /// `example` is a whole command for the messages: "lenslet eval --device cpu".
  CommandLine(const std::string& program, const std::string& description, const std::string& example);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command command(const std::string& name, const std::string& help, std::function<ExitCode()> run);
  /// A variable that the program reads, for help and manual page.
  void environment(const std::string& variable, const std::string& meaning);
  /// What to run: the subcommand that was asked for, or printing help or version. Throws UsageError with one line, which
  /// names the nearest match for a word that is none.
  std::function<ExitCode()> parse(int argc, const char* const* argv);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Splits at commas; throws UsageError for an empty part.
std::vector<std::string> split_list(const std::string& option, const std::string& text);

}  // namespace lenslet
