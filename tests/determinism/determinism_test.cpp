// Every backend of every layer type, and every backend of LeNet-5 as a whole, keeps its promise of repeated bits:
// across runs, preparations and processes, at every place of every batch, for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "framework/base/error.h"
#include "tests/determinism/subjects.h"
#include "tests/support/files.h"
#include "tests/support/subprocess.h"
#include "tests/support/test_device.h"
#include "tests/support/test_names.h"

namespace lenslet::determinism {
namespace {

constexpr const char* kDigestFile = "LENSLET_TEST_DIGESTS";

using DeterminismTest = DeviceTest<testing::TestWithParam<Family>>;

TEST_P(DeterminismTest, PromiseIsKept) {
  std::string why_not = "nothing here is small enough";
  const std::vector<Subject> all = subjects(GetParam(), kDevice, why_not);
  if (all.empty()) GTEST_SKIP() << why_not;
  for (const Subject& subject : all) {
    try {
      EXPECT_EQ(broken_promise(subject), "");
    } catch (const UnavailableError& error) {
      // A library may refuse when a kernel is requested; then there is no promise to check.
      EXPECT_LT(subject.promise, Determinism::kPosition) << subject.name << ": " << error.what();
    }
  }
}

TEST_P(DeterminismTest, ThreadsChangeNoBit) {
  if (kDevice.is_cuda()) GTEST_SKIP() << "the program's threads are the CPU's";
  std::string why_not = "nothing here is small enough";
  const std::vector<Subject> all = subjects(GetParam(), kDevice, why_not);
  if (all.empty()) GTEST_SKIP() << why_not;
  EXPECT_EQ(broken_threads(all), "");
}

INSTANTIATE_TEST_SUITE_P(Backends, DeterminismTest, testing::ValuesIn(families(kDevice.kind)), ByName());

/// One line per subject that promises equal bits in every process.
std::string digests() {
  std::ostringstream text;
  for (const Family& family : families(kDevice.kind)) {
    std::string why_not;
    for (const Subject& subject : subjects(family, kDevice, why_not, true)) {
      if (subject.promise < Determinism::kBitwise) continue;
      text << std::hex << digest(subject, 1) << ' ' << digest(subject, subject.supports(64) ? 64 : 1) << ' '
           << subject.name << '\n';
    }
  }
  return text.str();
}

// The test below runs this one in another process.
TEST(DeterminismOfProcesses, WriteDigests) {
  const char* const path = std::getenv(kDigestFile);
  if (path == nullptr) GTEST_SKIP() << "only the test of processes runs it";
  std::ofstream(path) << digests();
}

TEST(DeterminismOfProcesses, AnotherProcessGivesTheSameBits) {
  if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
  const std::string path = testing::TempDir() + "lenslet_digests_" + lenslet::to_string(kDevice.kind);
  test::ProgramOptions options;
  options.environment[kDigestFile] = path;
  options.unset = {"GTEST_TOTAL_SHARDS",
                   "GTEST_SHARD_INDEX"};  // runs this one test, whatever shard this process has
  // By its own path, because modules are searched beside the program.
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const test::ProgramRun run =
      test::run_program({program, "--gtest_filter=DeterminismOfProcesses.WriteDigests"}, options);
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::string expected = digests();
  ASSERT_GT(std::count(expected.begin(), expected.end(), '\n'), 5);
  EXPECT_EQ(test::read_text(path), expected);
}

}  // namespace
}  // namespace lenslet::determinism
