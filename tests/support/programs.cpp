#include "tests/support/programs.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "framework/base/text.h"

namespace lenslet::test {
namespace {

std::string given_to(const std::vector<std::string>& command, const ProgramOptions& options) {
  std::string given;
  const auto add = [&](const std::string& text) { given += text + "\n" + printable(text) + "\n"; };
  add(joined(command, " "));
  for (const std::string& word : command) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(options.folder) / word;
    if (!std::filesystem::is_directory(folder, ignored)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      add(entry.path().filename().string());
  }
  for (const auto& [name, value] : options.environment) add(name + "=" + value);
  return lower_case(given);
}

// Without the punctuation at its ends.
std::string core_of(const std::string& fragment) {
  const auto is_part = [](unsigned char byte) { return byte >= 0x80 || std::isalnum(byte) != 0; };
  const auto begin = std::find_if(fragment.begin(), fragment.end(), is_part);
  return {begin, std::find_if(fragment.rbegin(), std::make_reverse_iterator(begin), is_part).base()};
}

}  // namespace

std::string program_path(const std::string& name) {
  const char* const prefix = std::getenv("LENSLET_TEST_PREFIX");
  if (prefix != nullptr && *prefix != 0) {
    return std::filesystem::absolute(std::string(prefix) + "/bin/" + name).string();
  }
  return name == "lenslet" ? LENSLET_PROGRAM : LENSLET_CONVBENCH;
}

std::string expand(std::string text, const Names& names) {
  for (const auto& [name, meaning] : names) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + meaning.size())) {
      text.replace(at, name.size(), meaning);
    }
  }
  return text;
}

ProgramRun run_words(const std::string& line, const Names& names, ProgramOptions options) {
  std::istringstream words(line);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(expand(word, names));
  const std::string given = given_to(command, options);
  command.at(0) = program_path(command[0]);
  options.unset.push_back("LENSLET_MNIST_DIR");
  ProgramRun run = run_program(command, options);
  run.given = given;
  return run;
}

void expect_words(const std::string& text, const std::string& words) {
  std::istringstream parts(words);
  for (std::string part; std::getline(parts, part, '|');) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
  }
}

bool adds_reason(const std::string& given, const std::string& words) {
  constexpr size_t kMinReason = 4;
  std::istringstream parts(words);
  for (std::string part; std::getline(parts, part, '|');) {
    const std::string core = core_of(part);
    if (core.size() >= kMinReason && given.find(lower_case(core)) == std::string::npos) return true;
  }
  return false;
}

ProgramRun expect_run(ProgramRun run, int exit_code, const std::string& out, const std::string& err,
                      const char* file, int line) {
  const testing::ScopedTrace trace(file, line, "");
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.exit_code, exit_code) << "signal " << run.signal << "\n" << run.out << run.err;
  expect_words(run.out, out);
  expect_words(run.err, err);
  if (!err.empty() && exit_code >= kUsage && exit_code <= kOutput) {
    EXPECT_TRUE(adds_reason(run.given, err)) << err << kNoReason << run.err;
  }
  return run;
}

nlohmann::json parse_json(const std::string& text) { return nlohmann::json::parse(text); }
nlohmann::json read_json_file(const std::string& path) { return parse_json(read_text(path)); }

long count_lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

void expect_members(const nlohmann::json& actual, const nlohmann::json& expected) {
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(actual.at(key), value) << key;
}

}  // namespace lenslet::test
