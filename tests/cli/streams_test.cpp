// Standard streams that are closed, go away or are no terminal; the table of bad inputs has those that are full.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

using Output = ProgramOptions::Output;

ProgramRun run_into(Output output, const std::string& arguments) {
  ProgramOptions options;
  options.output = output;
  return lenslet(arguments, options);
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

TEST(Streams, NoTerminalNoControlCharacters) {
  const ProgramRun run = lenslet("eval --device cpu --data {dir}/many");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ((run.out + run.err).find('\r'), std::string::npos);
  EXPECT_EQ((run.out + run.err).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace lenslet::test
