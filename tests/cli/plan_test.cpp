// --plan, --input, --output and --backend with the whole-network plan, in the commands that run the model.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/cli/fixtures/files.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

// A whole-network backend of the CPU; empty if there is none.
std::string cpu_backend() {
  const json rows = parse_json(lenslet("backends --device cpu --json -").out).at("rows");
  for (const json& row : rows) {
    if (row.at("type") == "network" && row.at("supported").get<bool>()) return row.at("backend");
  }
  return {};
}

std::vector<float> read_logits(const std::string& path) {
  const std::string bytes = read_text(expand(path));
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class FusedPlan : public testing::Test {
 protected:
  void SetUp() override {
    backend_ = cpu_backend();
    if (backend_.empty()) GTEST_SKIP() << "no whole-network backend supports this CPU";
  }
  std::string backend_;
};

TEST_F(FusedPlan, AutoTakesItOnTheCpuUnlessABackendIsGiven) {
  expect_run(run_line("{eval}"), kOk, "backends:   fused ");
  expect_run(run_line("{eval} --backend direct"), kOk, "backends:   conv1 direct");
  expect_run(run_line("{eval} --plan layered"), kOk, "backends:   conv1 ");
}

TEST_F(FusedPlan, AnswersAsTheLayeredPlanDoes) {
  const std::string eval = "{eval} --batch-size 7 --logits {dir}/out/";
  expect_run(run_line(eval + "layered.raw --plan layered"), kOk);
  const std::vector<float> expected = read_logits("{dir}/out/layered.raw");
  ASSERT_EQ(expected.size(), 200u);
  for (const std::string input : {"fp32", "uint8"}) {
    expect_run(run_line(eval + input + ".raw --plan fused --backend " + backend_ + " --input " + input), kOk,
               "fused " + backend_);
    const std::vector<float> logits = read_logits("{dir}/out/" + input + ".raw");
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t i = 0; i < logits.size(); ++i)
      EXPECT_LE(std::fabs(logits[i] - expected[i]), kLogitTolerance) << i;
  }
}

TEST_F(FusedPlan, IsSavedAndReplayedBitForBit) {
  const std::string eval = "{eval} --logits {dir}/out/";
  expect_run(run_line(eval + "f1.raw --plan fused --input uint8 --save-plan {dir}/out/fused.json"), kOk);
  const ProgramRun replay =
      expect_run(run_line(eval + "f2.raw --plan {dir}/out/fused.json"), kOk, "uint8 in");
  EXPECT_TRUE(replay.err.empty()) << replay.err;
  EXPECT_EQ(read_logits("{dir}/out/f1.raw"), read_logits("{dir}/out/f2.raw"));
}

// What packing rounds is counted beside the answers to the bytes themselves, and a replayed plan packs too.
TEST_F(FusedPlan, PackedPixelsAreCountedBesideBytes) {
  const std::string eval = "{eval} --plan fused --logits {dir}/out/";
  expect_run(run_line(eval + "bytes.raw --input uint8 --json {dir}/out/of_bytes.json"), kOk);
  const ProgramRun run = expect_run(
      run_line(eval +
               "p1.raw --input uint4 --batch-size 7 --json {dir}/out/packed.json --csv {dir}/out/packed.csv "
               "--save-plan {dir}/out/packed_plan.json"),
      kOk,
      "backends:   fused simd, uint4 in|packing:    4 bits a pixel, rounded to 16 greys: lossy|uint8:      ");
  EXPECT_EQ(run.out.find("fp32:  "), std::string::npos) << "it was computed in fp32";
  const json packed = read_json("{dir}/out/packed.json"), bytes = read_json("{dir}/out/of_bytes.json");
  const json& beside = packed.at("uint8");
  expect_members(beside, {{"backends", "fused simd, uint8 in"}, {"correct", bytes.at("correct")}});
  EXPECT_TRUE(bytes.at("uint8").is_null());
  const std::vector<float> found = read_logits("{dir}/out/p1.raw"),
                           exact = read_logits("{dir}/out/bytes.raw");
  ASSERT_EQ(found.size(), exact.size());
  EXPECT_NE(found, exact) << "nothing was rounded";
  int64_t differ = 0;
  for (size_t i = 0; i < found.size(); i += 10) {
    const auto label = [&](const std::vector<float>& logits) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i);
      return std::max_element(row, row + 10) - row;
    };
    differ += label(found) != label(exact);
  }
  EXPECT_EQ(beside.at("differing"), differ);
  expect_words(read_text(expand("{dir}/out/packed.csv")), "uint8_correct,uint8_differing|uint4 in");
  expect_members(read_json("{dir}/out/packed_plan.json"), {{"input", "uint4"}});
  expect_run(run_line(eval.substr(0, 6) + " --logits {dir}/out/p2.raw --plan {dir}/out/packed_plan.json"),
             kOk, "uint4 in|lossy");
  EXPECT_EQ(read_logits("{dir}/out/p2.raw"), found);
}

TEST_F(FusedPlan, EveryCommandOfTheModelTakesPackedPixels) {
  const std::string quick = " --device cpu --plan fused --input uint4 --min-time-ms 1 --warmup-ms 0 ";
  expect_run(lenslet("profile" + quick + "--batch-size 3 --cache hot"), kOk, "uint4 in");
  const ProgramRun tune = expect_run(lenslet("tune" + quick + "--batch-size 3 --json -"), kOk);
  EXPECT_EQ(parse_json(tune.out).at("plans").at(0).at("status"), "PASSED");
  expect_run(run_line("{classify} --plan fused --input uint4 --explain {dir}/pics/one.pgm"), kOk,
             "uint4 in|one.pgm: 1 ");
  const json rows = parse_json(lenslet("backends --device cpu --json -").out).at("rows");
  for (const json& row : rows) {
    if (row.at("type") != "network") continue;
    EXPECT_EQ(row.at("reads"), (json{"fp32", "uint8", "uint4"})) << row;
  }
}

TEST_F(FusedPlan, ProfileShowsOneRow) {
  expect_run(
      lenslet(
          "profile --device cpu --plan fused --input uint8 --output prediction --batch-size 3 --cache hot "
          "--min-time-ms 2 --warmup-ms 0 --save-plan {dir}/out/answers.json --json "
          "{dir}/out/fused_profile.json"),
      kOk, "plan: fused ");
  const json document = read_json("{dir}/out/fused_profile.json");
  EXPECT_EQ(document.at("check").at("checked"), 3) << "one answer an image";
  int layers = 0;
  for (const json& row : document.at("results")) layers += row.at("cache") == "hot" ? 1 : 0;
  EXPECT_EQ(layers, 1);
  // The saved plan writes predictions, which commands that need logits refuse.
  expect_run(run_line("{eval} --plan {dir}/out/answers.json"), kData, "", "needs logits");
}

TEST_F(FusedPlan, ClassifyReadsBytes) {
  expect_run(run_line("{classify} --plan fused --input uint8 {dir}/pics/one.pgm"), kOk, "one.pgm: 1 ");
}

TEST_F(FusedPlan, DoctorTestsEveryWholeNetworkBackend) {
  expect_run(lenslet("doctor --device cpu --verbose"), kOk, "cpu fused " + backend_);
}

TEST_F(FusedPlan, AMathModeThatNoBackendOffersIsRefusedWithTheReasons) {
  expect_run(run_line("{eval} --plan fused --math fp16"), kUnavailable, "",
             "no backend supports fp16 on cpu: |" + backend_ + " computes in fp32 only");
}

TEST_F(FusedPlan, AMisspeltBackendGetsTheNearestOne) {
  expect_run(lenslet("profile --device cpu --plan fused --backend " + backend_ + "x"), kUsage, "",
             "did you mean '" + backend_);
}

}  // namespace
}  // namespace lenslet::test
