// Standard streams that are full, closed or go away, and signals.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

using Output = ProgramOptions::Output;

ProgramRun run_into(Output output, const std::string& arguments) {
  ProgramOptions options;
  options.output = output;
  return lenslet(arguments, options);
}

TEST(Streams, AFullOutputIsAnError) {
  for (const char* arguments : {"--version", "eval --help", "classify --device cpu {dir}/pics/one.pgm",
                                "eval --device cpu --data {dir}/data --json -"}) {
    const ProgramRun run = run_into(Output::kFull, arguments);
    EXPECT_EQ(run.exit_code, 7) << arguments << run.err;
    EXPECT_NE(run.err.find("No space left"), std::string::npos) << run.err;
  }
}

TEST(Streams, AClosedOutputIsAnErrorAndTouchesNoFile) {
  const ProgramRun run =
      run_into(Output::kClosed, "classify --device cpu {dir}/pics/one.pgm --csv {dir}/out/closed.csv");
  EXPECT_EQ(run.exit_code, 7) << run.err;
  EXPECT_FALSE(std::filesystem::exists(expand("{dir}/out/closed.csv")));
}

TEST(Streams, AReaderThatGoesAwayIsNoNoise) {
  const ProgramRun run =
      run_into(Output::kReadOneLineThenClose, "classify --device cpu {dir}/many/t10k-images-idx3-ubyte");
  EXPECT_EQ(run.signal, 0);
  EXPECT_EQ(run.exit_code, 7);
  EXPECT_TRUE(run.err.empty()) << run.err;
}

TEST(Streams, ClosedStandardInputIsADataError) {
  ProgramOptions options;
  options.inherit_nothing_on_stdin = true;
  const ProgramRun run = lenslet("classify --device cpu -", options);
  EXPECT_EQ(run.exit_code, 3) << run.err;
}

TEST(Streams, ATerminalOnStandardInputIsRefusedAtOnce) {
  const int probe = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (probe < 0) GTEST_SKIP() << "no pseudo terminal can be opened here";
  ::close(probe);
  ProgramOptions options;
  options.terminal_on_stdin = true;
  options.timeout_s = 20;
  const ProgramRun run = lenslet("classify --device cpu -", options);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_NE(run.err.find("terminal"), std::string::npos) << run.err;
}

TEST(Streams, NoTerminalNoControlCharacters) {
  const ProgramRun run = lenslet("eval --device cpu --data {dir}/many");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ((run.out + run.err).find('\r'), std::string::npos);
  EXPECT_EQ((run.out + run.err).find('\x1b'), std::string::npos);
}

TEST(Streams, AFailedOutputLeavesNoTemporaryFile) {
  lenslet("eval --device cpu --data {dir}/data --json {dir}/out/kept.json --csv /dev/full");
  for (const auto& entry : std::filesystem::directory_iterator(expand("{dir}/out"))) {
    EXPECT_EQ(entry.path().filename().string().rfind(".lenslet-", 0), std::string::npos) << entry.path();
  }
}

TEST(Signals, AnInterruptFinishesTheBatchAndWritesValidFiles) {
  ProgramOptions options;
  // Throughput is measured for 300 ms at least, so this comes while images are being evaluated.
  options.interrupt_after_s = 0.2;
  const ProgramRun run = lenslet(
      "eval --device cpu --threads 1 --batch-size 16 --data {dir}/many --json {dir}/out/int.json", options);
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_LT(run.seconds, 30);
  std::ifstream file(expand("{dir}/out/int.json"));
  const nlohmann::json document = nlohmann::json::parse(file);
  EXPECT_TRUE(document.at("interrupted").get<bool>());
}

TEST(Signals, AnInterruptedProfileWritesWhatItHas) {
  ProgramOptions options;
  options.interrupt_after_s = 4;
  const ProgramRun run = lenslet(
      "profile --device cpu --batch-size 256 --cache hot --min-time-ms 3600000 --warmup-ms 0 --json "
      "{dir}/out/prof.json",
      options);
  EXPECT_EQ(run.exit_code, 130) << run.err;
  if (run.err.empty()) {  // else it was still measuring ceilings: nothing to write
    std::ifstream file(expand("{dir}/out/prof.json"));
    EXPECT_TRUE(nlohmann::json::parse(file).at("interrupted").get<bool>());
  }
}

}  // namespace
}  // namespace lenslet::test
