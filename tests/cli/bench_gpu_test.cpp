// lenslet bench on the GPU: every kind of row, briefly. Times are not checked.
#include <set>

#include "tests/cli/fixtures/files.h"
#include "tests/support/gpu.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

json rows_of(const std::string& arguments) {
  const std::string line = "bench --device cuda --min-time-ms 2 --warmup-ms 1 --json - ";
  return parse_json(expect_run(lenslet(line + arguments), kOk).out).at("results");
}

TEST(BenchGpu, EveryPlanMathModeInputAndOutputPasses) {
  LENSLET_SKIP_WITHOUT_GPU();
  const json rows = rows_of("--batch-sizes 1,33,1000 --data {dir}/data");
  std::set<std::string> plans, maths, tensors, batches;
  for (const json& row : rows) {
    if (row.at("status") == "UNSUPPORTED") {
      EXPECT_FALSE(row.at("reason").is_null()) << row.dump();
      continue;
    }
    EXPECT_TRUE(row.at("status") == "PASSED" || row.at("status") == "SUSPECT") << row.dump();
    EXPECT_GE(row.at("samples").get<int>(), 20);
    EXPECT_EQ(row.at("accuracy").at("count"), 20);
    plans.insert(row.at("labels").at("plan"));
    maths.insert(row.at("math"));
    tensors.insert(row.at("labels").at("input").get<std::string>() + " " +
                   row.at("labels").at("output").get<std::string>());
    batches.insert(row.at("labels").at("batch"));
  }
  EXPECT_EQ(plans, (std::set<std::string>{"fused", "layered"}));
  EXPECT_EQ(maths, (std::set<std::string>{"fp16", "fp32", "tf32"}));
  EXPECT_EQ(batches, (std::set<std::string>{"1", "33", "1000"}));
  for (const char* pair : {"fp32 logits", "fp32 prediction", "uint8 logits", "uint8 prediction"})
    EXPECT_EQ(tensors.count(pair), 1u) << pair;
}

// Batches for which the GPU, not the host's launches, takes the time.
TEST(ProfileGpu, TheLayersAddUpToThePass) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const std::string batch : {"1024", "10000"}) {
    const ProgramRun run = expect_run(
        lenslet("profile --device cuda --plan layered --cache hot --json - --batch-size " + batch), kOk);
    const json sums = parse_json(run.out).at("sums_ns");
    const double layers = sums.at("layers"), events = sums.at("events"),
                 uninstrumented = sums.at("uninstrumented");
    EXPECT_NEAR(layers - events, uninstrumented, 0.03 * uninstrumented) << "batch " << batch;
  }
}

// Calls are timed by the host's clock and are never faster than the passes they consist of.
TEST(BenchGpu, HostRowsStandBesideDeviceOnes) {
  LENSLET_SKIP_WITHOUT_GPU();
  const json rows = rows_of(
      "--batch-sizes 1,70000 --plan fused --math fp16 --input uint8,uint4 --output prediction --data "
      "{dir}/data");
  ASSERT_EQ(rows.size(), 8u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const json& row = rows[i];
    EXPECT_TRUE(row.at("status") == "PASSED" || row.at("status") == "SUSPECT") << row.dump();
    EXPECT_EQ(row.at("labels").at("place"), i % 2 == 0 ? "device" : "host");
    EXPECT_EQ(row.at("accuracy").at("count"), 20);
    if (i % 2 == 0) continue;
    EXPECT_FALSE(row.at("replayed").get<bool>());
    EXPECT_TRUE(row.at("ceiling_fraction").is_null());
    EXPECT_GT(row.at("time_ns").at("median").get<double>(),
              rows[i - 1].at("time_ns").at("median").get<double>());
  }
}

TEST(BenchGpu, SmallBatchesAreReplayedAndLargeOnesAreNot) {
  LENSLET_SKIP_WITHOUT_GPU();
  const json rows = rows_of("--batch-sizes 1,65536 --plan layered --math fp32 --output logits --input fp32");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].at("replayed").get<bool>());
  EXPECT_FALSE(rows[1].at("replayed").get<bool>());
}

TEST(BenchGpu, LatencyGoesEveryWay) {
  LENSLET_SKIP_WITHOUT_GPU();
  const json rows = rows_of(
      "--latency --calls 50 --batch-sizes 1,3 --plan layered --math fp32 --output logits --input fp32");
  ASSERT_EQ(rows.size(), 6u);
  const char* const modes[] = {"copy", "graph", "mapped"};
  for (size_t i = 0; i < rows.size(); ++i) {
    const json& row = rows[i];
    expect_members(row, {{"status", "PASSED"}, {"replayed", i % 3 == 1}, {"samples", 50}});
    EXPECT_EQ(row.at("labels").at("mode"), modes[i % 3]);
    // Overlapping passes take no longer than passes in order, and two events alone take less than a pass between them.
    const json& stages = row.at("stages_ns");
    const double in_order = stages.at("in_order");
    EXPECT_GT(stages.at("pipelined").get<double>(), 0);
    EXPECT_GT(in_order, stages.at("pipelined").get<double>() * 0.9);
    EXPECT_GT(stages.at("between_events").get<double>(), 0);
    EXPECT_GT(in_order, stages.at("between_events").get<double>());
    // The round trip takes longer than the kernels.
    EXPECT_GT(row.at("time_ns").at("median").get<double>(), stages.at("pipelined").get<double>() / 2);
  }
}

using ConvbenchGpu = ProgramTest;

// A resumed run measures no ceilings, so it must open the libraries that the first one measured them with.
TEST_F(ConvbenchGpu, AFileIsResumed) {
  LENSLET_SKIP_WITHOUT_GPU();
  const std::string line =
      "convbench run --device cuda --problem mb1ic3ih20oc3kh3ph1 --min-time-ms 2 --warmup-ms 1 --cache hot "
      "--backend direct,winograd --json r.json";
  expect_run(run(line), kOk);
  expect_run(run(line + " --resume"), kOk, "going on from r.json");
}

}  // namespace
}  // namespace lenslet::test
