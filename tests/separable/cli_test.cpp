// convbench separable and streams from outside: on the CPU the first works, the second reports that it needs a GPU.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "apps/common/output/text.h"
#include "framework/base/error.h"
#include "tests/support/gpu.h"
#include "tests/support/programs.h"

namespace lenslet::test {
namespace {

using Json = nlohmann::json;
using StudiesCli = ProgramTest;

TEST_F(StudiesCli, SeparableMeasuresPartsAndBlock) {
  const std::string line =
      "convbench separable --device cpu --channels 8 --sizes 9 --batch-size 2 --min-time-ms 1 --warmup-ms 0 "
      "--cache hot --json r.json";
  expect_run(run(line), kOk, "standard us|standard by|block by");
  const Json file = json("r.json");
  std::set<std::string> parts;  // "standard beside block" is what the printed table compares the block with
  for (const Json& row : file["results"]) {
    parts.insert(row["labels"]["part"]);
    EXPECT_EQ(row["study"], "d");
    EXPECT_EQ(row["labels"]["channels"], "8");
    EXPECT_TRUE(row["status"] == "PASSED" || row["status"] == "SUSPECT") << row;
    EXPECT_GT(row["error"]["checked"], 0);
    EXPECT_LE(row["error"]["max_abs"], row["error"]["bound"]);
    EXPECT_GT(row["time_ns"]["median"], 0);
    if (row["labels"]["part"] == "block") {
      EXPECT_DOUBLE_EQ(row["flops"], 2.0 * 2 * 81 * (8 * 9 + 8 * 8));
      expect_words(row["reason"], "in place of a standard convolution");
    }
  }
  EXPECT_EQ(parts,
            (std::set<std::string>{"standard", "standard beside block", "depthwise", "pointwise", "block"}));
  expect_run(run(line + " --resume"), kOk, "standard us");
  EXPECT_EQ(json("r.json")["results"].dump(), file["results"].dump()) << "measured again";
}

// A cold row beside a hot time would understate the block.
TEST_F(StudiesCli, ABlockStandsBesideAStandardConvolutionOfItsOwnCaches) {
  expect_run(run("convbench separable --device cpu --channels 8 --sizes 9 --batch-size 2 --min-time-ms 1 "
                 "--warmup-ms 0 --cache both --json both.json"),
             kOk);
  const Json rows = json("both.json")["results"];
  std::set<std::string> caches;
  for (const Json& block : rows) {
    if (block["labels"]["part"] != "block") continue;
    caches.insert(block["cache"]);
    const bool found = std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
      return row["labels"]["part"] == "standard beside block" && row["cache"] == block["cache"] &&
             std::string(block["reason"])
                     .find(concat("convolution of ", format_us(row["time_ns"]["median"]), " us (",
                                  std::string(row["backend"]), ")")) != std::string::npos;
    });
    EXPECT_TRUE(found) << block;
  }
  EXPECT_EQ(caches, (std::set<std::string>{"hot", "cold"}));
}

// Eight images of 512 channels take minutes on a CPU.
TEST_F(StudiesCli, SeparableEstimatesItsTimeAndObeysTheLimit) {
  const auto start = std::chrono::steady_clock::now();
  expect_run(
      run("convbench separable --device cpu --batch-size 8 --min-time-ms 10 --max-seconds 2 --json cut.json"),
      kOk, "candidates: about|cut by --max-seconds|stopped by --max-seconds");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60))
      << "a slow machine takes a few";
  EXPECT_EQ(json("cut.json")["status"], "INTERRUPTED");
  const std::string small =
      "convbench separable --device cpu --channels 4 --sizes 5 --min-time-ms 1 --warmup-ms 0 ";
  const ProgramRun quick = run(small + "--max-seconds 600 --json quick.json");
  expect_run(quick, kOk, "batch 1");
  EXPECT_EQ(quick.out.find("stopped by"), std::string::npos);
  EXPECT_EQ(json("quick.json")["status"], "COMPLETE");
  expect_run(run(small + "--max-seconds 0"), kUsage, "", "--max-seconds expects a number from 0.001");
}

// Without times side by side there is no row of dashes.
TEST_F(StudiesCli, SeparableLeavesOutWhatWasNotTimedInTurns) {
  const ProgramRun cut =
      run("convbench separable --device cpu --channels 4 --sizes 5 --max-seconds 0.001 --json none.json");
  expect_run(cut, kOk, "1 of 1 case: the standard convolution and the block were not timed in turns");
  EXPECT_EQ(cut.out.find("standard us"), std::string::npos) << cut.out;
}

// A depthwise convolution has several channels, so with one channel the backend supports none of the parts.
TEST_F(StudiesCli, ARunThatMeasuresNothingEndsWithTheReason) {
  const std::string line =
      "convbench separable --device cpu --sizes 9 --min-time-ms 1 --warmup-ms 0 --backend ";
  for (const char* once : {"", " --resume"}) {
    expect_run(run(line + "depthwise --channels 1 --json none.json" + once), kUnavailable, "",
               "depthwise supports one group for each of several channels");
    expect_run(run(line + "im2col_gemm --channels 8 --workspace-limit 1 --json limit.json" + once), kMemory,
               "", "bytes of workspace, the limit is 1");
  }
  expect_run(run(line + "depthwise --channels 8"), kOk);  // of its own part
}

TEST_F(StudiesCli, AnUnknownBackendIsRefused) {
  const ProgramRun refused = run("convbench separable --device cpu --backend nonesuch");
  expect_run(refused, kUsage, "", "no conv backend 'nonesuch' for cpu");
  EXPECT_EQ(refused.out.find("ceilings"), std::string::npos) << "before anything is measured";
}

// One stream does one thing at a time: in the trace each stream has its own line, without overlapping spans.
TEST_F(StudiesCli, StreamsOverlap) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_run(
      run("convbench streams --problem mb16ic32ih32oc32kh3ph1 --chunks 8 --streams 1,3 --min-time-ms 5 "
          "--warmup-ms 1 --json r.json --trace t.json"),
      kOk);
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
