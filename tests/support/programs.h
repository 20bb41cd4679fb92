// Runs lenslet and convbench as a shell would: command lines, the folder with their files, and expectations.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/io/crafted_files.h"
#include "tests/support/files.h"
#include "tests/support/subprocess.h"

namespace lenslet::test {

/// The exit codes that docs/cli.md documents.
constexpr int kOk = 0, kCheckFailed = 1, kUsage = 2, kData = 3, kUnavailable = 4, kDevice = 5, kMemory = 6,
              kOutput = 7, kInterrupted = 130;

/// The path of `lenslet` or `convbench`: in LENSLET_TEST_PREFIX, an installation, or else in the build.
std::string program_path(const std::string& name);

/// Replacements for words such as {dir}.
using Names = std::vector<std::pair<std::string, std::string>>;
std::string expand(std::string text, const Names& names);

/// Runs "lenslet …" or "convbench …": words separated by spaces, each expanded. LENSLET_MNIST_DIR is unset. The run's
/// `given` has the words, the environment's variables, and the names of the files in folders among the words.
ProgramRun run_words(const std::string& line, const Names& names, ProgramOptions options = {});

/// Expects that `text` contains each of the words between the '|'.
void expect_words(const std::string& text, const std::string& words);

/// Whether one of the words between the '|' is a reason: at least four characters that do not stand in `given` already,
/// whatever their case and without the quotes, dashes and colons around them. A message that repeats what was given
/// contains all others, whatever it is about.
bool adds_reason(const std::string& given, const std::string& words);
/// The failure of words that say no more.
inline constexpr char kNoReason[] =
    ": these words are in the command itself, so any message that repeats it would pass. "
    "Expect words of the reason; the message is: ";

/// Expects this exit code, and these words in standard output and standard error. The words of a refusal (exit codes 2
/// to 7) must say more than what the program was given. Failures name the caller's line.
ProgramRun expect_run(ProgramRun run, int exit_code, const std::string& out = "", const std::string& err = "",
                      const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// Throws for NaN, for text after the document, and for bytes that are not UTF-8. The parser is a template, so a source
/// that calls it directly takes a second longer to compile.
nlohmann::json parse_json(const std::string& text);
nlohmann::json read_json_file(const std::string& path);
long count_lines(const std::string& text);
/// Expects each member of `expected` in `actual`, with the same value.
void expect_members(const nlohmann::json& actual, const nlohmann::json& expected);

/// A test with its own folder, in which its programs run.
class ProgramTest : public testing::Test {
 protected:
  ProgramRun run(const std::string& line, ProgramOptions options = {}) const {
    options.folder = folder_.path();
    return run_words(line, {}, std::move(options));
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string text(const std::string& name) const { return read_text(path(name)); }
  nlohmann::json json(const std::string& name) const { return read_json_file(path(name)); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, bytes_of(text)); }

  const TemporaryFolder folder_;
};

}  // namespace lenslet::test
