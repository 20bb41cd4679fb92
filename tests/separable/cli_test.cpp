// convbench separable and streams from outside: on the CPU the one works and the other says what it needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "framework/device.h"
#include "tests/support/gpu.h"
#include "tests/support/subprocess.h"

namespace lenslet::test {
namespace {

using Json = nlohmann::json;
constexpr int kUsage = 2, kUnavailable = 4;

ProgramRun convbench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LENSLET_CONVBENCH);
  return run_program(arguments);
}

void expect_error(const ProgramRun& run, int exit_code, const std::string& fragment) {
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  EXPECT_NE(run.err.find(fragment), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

class StudiesCli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("studies_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Json json(const std::string& name) const {
    std::ifstream file(path(name));
    return Json::parse(file);
  }
  std::filesystem::path folder_;
};

TEST_F(StudiesCli, SeparableMeasuresPartsAndBlock) {
  const ProgramRun run =
      convbench({"separable", "--device", "cpu", "--channels", "8", "--sizes", "9", "--batch-size", "2",
                 "--min-time-ms", "1", "--warmup-ms", "0", "--cache", "hot", "--json", path("r.json")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("standard us"), std::string::npos) << run.out;
  const Json file = json("r.json");
  std::set<std::string> parts;
  for (const Json& row : file["results"]) {
    parts.insert(row["labels"]["part"]);
    EXPECT_EQ(row["study"], "d");
    EXPECT_EQ(row["labels"]["channels"], "8");
    EXPECT_TRUE(row["status"] == "PASSED" || row["status"] == "SUSPECT") << row;
    EXPECT_GT(row["error"]["checked"], 0);
    EXPECT_LE(row["error"]["max_abs"], row["error"]["bound"]);
    if (row["labels"]["part"] == "block") {
      EXPECT_DOUBLE_EQ(row["flops"], 2.0 * 2 * 81 * (8 * 9 + 8 * 8));
      EXPECT_NE(std::string(row["reason"]).find("in place of a standard convolution"), std::string::npos);
    }
  }
  EXPECT_EQ(parts, (std::set<std::string>{"standard", "depthwise", "pointwise", "block"}));
}

TEST_F(StudiesCli, MistakesGetOneLine) {
  expect_error(convbench({"separable", "--channels", "0"}), kUsage, "--channels");
  expect_error(convbench({"separable", "--sizes", "1:2"}), kUsage, "--sizes");
  expect_error(convbench({"separable", "--device", "cpu", "--channels", "4096", "--sizes", "65536"}), kUsage,
               "2^31");
  expect_error(convbench({"separable", "--device", "cpu", "--backend", "nonesuch"}), kUsage, "nonesuch");
  expect_error(convbench({"streams", "--chunks", "7"}), kUsage, "does not divide");
  expect_error(convbench({"streams", "--chunks", "0"}), kUsage, "--chunks");
  expect_error(convbench({"streams", "--streams", "0"}), kUsage, "--streams");
  expect_error(convbench({"streams", "--problem", "mb4"}), kUsage, "mb4");
  expect_error(convbench({"streams", "--device", "cpu"}), kUnavailable, "needs a GPU");
}

// One stream does one thing at a time; in the trace each stream has its own line, and no two spans of one overlap.
TEST_F(StudiesCli, StreamsOverlap) {
  LENSLET_SKIP_WITHOUT_GPU();
  const ProgramRun run = convbench({"streams", "--problem", "mb16ic32ih32oc32kh3ph1", "--chunks", "8",
                                    "--streams", "1,3", "--min-time-ms", "5", "--warmup-ms", "1", "--json",
                                    path("r.json"), "--trace", path("t.json")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json file = json("r.json");
  for (const Json& row : file["results"]) {
    EXPECT_EQ(row["status"], "PASSED") << row;
    EXPECT_EQ(row["stages_ns"].size(), 3u);
  }
  std::map<int, double> ends;
  int spans = 0;
  const Json trace = json("t.json");
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++spans;
    double& end = ends[event["tid"]];
    EXPECT_GE(double(event["ts"]), end - 0.01);
    end = double(event["ts"]) + double(event["dur"]);
  }
  EXPECT_EQ(spans, 2 * 8 * 3);
  EXPECT_EQ(ends.size(), 1u + 3u);
}

}  // namespace
}  // namespace lenslet::test
