// lenslet tune and the backend matrix on a GPU.
#include "tests/cli/fixtures/files.h"
#include "tests/support/gpu.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

// Tunes, replays the plan, and compares the described choices.
void expect_tuned(const std::string& arguments) {
  SCOPED_TRACE(arguments);
  expect_run(
      lenslet("tune --device cuda --warmup-ms 1 --min-time-ms 3 --json {dir}/out/gpu_tune.json --save-plan "
              "{dir}/out/gpu_plan.json " +
              arguments),
      kOk);
  const json document = read_json("{dir}/out/gpu_tune.json");
  size_t chosen = 0;
  for (const json& plan : document.at("plans")) chosen += plan.at("chosen").get<bool>() ? 1 : 0;
  EXPECT_EQ(chosen, 1u);
  for (const json& candidate : document.at("candidates"))
    EXPECT_NE(candidate.at("status"), "SKIPPED") << candidate;
  expect_run(
      lenslet(
          "eval --plan {dir}/out/gpu_plan.json --data {dir}/data --save-plan {dir}/out/gpu_replayed.json"),
      kOk);
  EXPECT_EQ(read_json("{dir}/out/gpu_replayed.json"), read_json("{dir}/out/gpu_plan.json"));
}

TEST(TuneGpu, WritesPlansThatAreReplayed) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_tuned("--plan layered --batch-size 1");
  expect_tuned("--plan layered --batch-size 1000");
  expect_tuned("--plan layered --batch-size 65 --math tf32");
  expect_tuned("--plan layered --batch-size 65 --math fp16");
  expect_tuned("--batch-size 200");
  expect_tuned("--batch-size 200 --input uint8");
}

TEST(TuneGpu, RefusesALayeredPlanInAModeThatABackendLacks) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_run(lenslet("tune --device cuda --plan layered --batch-size 65 --math fp16 --backend fc1=tiled"),
             kUnavailable, "", "fc1|tiled computes in fp32 only, not in fp16");
}

TEST(MatrixGpu, CountsTheWholeNetworkBackendsInEveryMathMode) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_run(lenslet("eval --device cuda --data {dir}/data --math fp16 --backend-matrix --json "
                     "{dir}/out/gpu_matrix.json"),
             kOk);
  const json document = read_json("{dir}/out/gpu_matrix.json");
  EXPECT_EQ(document.at("rows").at(0).at("math"), "fp32") << "the standard comes first";
  size_t fused = 0;
  for (const json& row : document.at("rows")) {
    fused += row.at("backends").get<std::string>().rfind("fused ", 0) == 0 ? 1 : 0;
  }
  EXPECT_GE(fused, 6u) << "a backend has a row for each math mode and input";
}

}  // namespace
}  // namespace lenslet::test
