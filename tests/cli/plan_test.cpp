// --plan, --input, --output and --backend with the fused plan, in the commands that run the model.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

// A variant of the fused plan that serves on the CPU; empty where there is none.
std::string cpu_variant() {
  const ProgramRun run = lenslet("backends --device cpu --json -");
  const json rows = json::parse(run.out).at("rows");
  for (const json& row : rows) {
    if (row.at("type") == "network" && row.at("can").get<bool>()) return row.at("backend");
  }
  return {};
}

std::vector<float> read_logits(const std::string& path) {
  std::ifstream file(expand(path), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class FusedPlan : public testing::Test {
 protected:
  void SetUp() override {
    variant_ = cpu_variant();
    if (variant_.empty()) GTEST_SKIP() << "the fused plan has no variant that serves on this CPU";
  }
  std::string variant_;
};

TEST_F(FusedPlan, AutoTakesItOnTheCpuUnlessABackendIsAskedFor) {
  const ProgramRun fused = lenslet("eval --device cpu --data {dir}/data");
  EXPECT_NE(fused.out.find("backends:   fused "), std::string::npos) << fused.out;
  const ProgramRun layered = lenslet("eval --device cpu --data {dir}/data --backend direct");
  EXPECT_NE(layered.out.find("backends:   conv1 direct"), std::string::npos) << layered.out;
  const ProgramRun asked = lenslet("eval --device cpu --data {dir}/data --plan layered");
  EXPECT_NE(asked.out.find("backends:   conv1 "), std::string::npos) << asked.out;
}

TEST_F(FusedPlan, AnswersAsTheLayeredPlanDoes) {
  const std::string eval = "eval --device cpu --data {dir}/data --batch-size 7 --logits {dir}/out/";
  ASSERT_EQ(lenslet(eval + "layered.raw --plan layered").exit_code, 0);
  const std::vector<float> expected = read_logits("{dir}/out/layered.raw");
  ASSERT_EQ(expected.size(), 200u);
  for (const std::string input : {"fp32", "uint8"}) {
    const ProgramRun run =
        lenslet(eval + input + ".raw --plan fused --backend " + variant_ + " --input " + input);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_NE(run.out.find("fused " + variant_), std::string::npos) << run.out;
    const std::vector<float> logits = read_logits("{dir}/out/" + input + ".raw");
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_LE(std::fabs(logits[i] - expected[i]), 2e-3) << i;
  }
}

TEST_F(FusedPlan, IsSavedAndReplayedBitForBit) {
  const std::string eval = "eval --device cpu --data {dir}/data --logits {dir}/out/";
  ASSERT_EQ(lenslet(eval + "f1.raw --plan fused --input uint8 --save-plan {dir}/out/fused.json").exit_code,
            0);
  const ProgramRun replay = lenslet(eval + "f2.raw --plan {dir}/out/fused.json");
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_TRUE(replay.err.empty()) << replay.err;
  EXPECT_NE(replay.out.find("uint8 in"), std::string::npos) << replay.out;
  EXPECT_EQ(read_logits("{dir}/out/f1.raw"), read_logits("{dir}/out/f2.raw"));
}

TEST_F(FusedPlan, ProfileShowsOneRow) {
  const ProgramRun run = lenslet(
      "profile --device cpu --plan fused --input uint8 --output prediction --batch-size 3 --cache hot "
      "--min-time-ms 2 --warmup-ms 0 --save-plan {dir}/out/answers.json --json {dir}/out/fused_profile.json");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("plan: fused "), std::string::npos) << run.out;
  std::ifstream file(expand("{dir}/out/fused_profile.json"));
  const json document = json::parse(file);
  EXPECT_EQ(document.at("check").at("checked"), 3) << "one answer an image";
  int layers = 0;
  for (const json& row : document.at("results")) layers += row.at("cache") == "hot" ? 1 : 0;
  EXPECT_EQ(layers, 1);
  // What was saved there writes answers, and the commands that need logits say so.
  const ProgramRun eval = lenslet("eval --device cpu --data {dir}/data --plan {dir}/out/answers.json");
  EXPECT_EQ(eval.exit_code, 3) << eval.out << eval.err;
  EXPECT_NE(eval.err.find("needs logits"), std::string::npos) << eval.err;
}

TEST_F(FusedPlan, ClassifyReadsBytes) {
  const ProgramRun run = lenslet("classify --device cpu --plan fused --input uint8 {dir}/pics/one.pgm");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("one.pgm: 1 "), std::string::npos) << run.out;
}

TEST_F(FusedPlan, DoctorTestsEveryVariant) {
  const ProgramRun run = lenslet("doctor --device cpu");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("cpu fused " + variant_), std::string::npos) << run.out;
}

TEST_F(FusedPlan, AMathModeThatNoVariantOffersIsRefusedWithTheReasons) {
  const ProgramRun run = lenslet("eval --device cpu --data {dir}/data --plan fused --math fp16");
  EXPECT_EQ(run.exit_code, 4) << run.out << run.err;
  EXPECT_NE(run.err.find(variant_), std::string::npos) << run.err;
}

TEST_F(FusedPlan, AMisspeltVariantGetsTheNearestOne) {
  const ProgramRun run = lenslet("profile --device cpu --plan fused --backend " + variant_ + "x");
  EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
  EXPECT_NE(run.err.find("did you mean '" + variant_), std::string::npos) << run.err;
}

}  // namespace
}  // namespace lenslet::test
