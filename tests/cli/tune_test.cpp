// lenslet tune: candidates, choice, plan, files.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "tests/cli/fixture_files.h"
#include "tests/cli/read_json.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

constexpr const char* kQuick = "tune --device cpu --batch-size 4 --warmup-ms 0 --min-time-ms 2 ";

// The nodes of the chosen candidates, and that each comes once.
std::set<std::string> chosen_layers(const json& document) {
  std::set<std::string> covered;
  for (const json& candidate : document.at("candidates")) {
    if (!candidate.at("chosen").get<bool>()) continue;
    EXPECT_EQ(candidate.at("status"), "PASSED");
    for (const json& layer : candidate.at("layers")) EXPECT_TRUE(covered.insert(layer).second) << layer;
  }
  return covered;
}

TEST(Tune, TimesEveryOperatorAndWritesAPlanThatIsReplayed) {
  const ProgramRun run =
      lenslet(std::string(kQuick) +
              "--plan layered --save-plan {dir}/out/tuned.json --json {dir}/out/tune.json --csv "
              "{dir}/out/tune.csv");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("CHOSEN"), std::string::npos) << run.out;
  const json document = read_json("{dir}/out/tune.json"), plan = read_json("{dir}/out/tuned.json");
  EXPECT_EQ(document.at("schema"), "lenslet.tune/1");
  EXPECT_EQ(document.at("status"), "COMPLETE");
  EXPECT_EQ(document.at("batch"), 4);
  EXPECT_EQ(chosen_layers(document).size(), 11u) << "every layer of the model once";
  for (const json& candidate : document.at("candidates")) {
    if (candidate.at("status") != "PASSED") {
      EXPECT_FALSE(candidate.at("reason").get<std::string>().empty()) << candidate.dump();
      EXPECT_TRUE(candidate.at("time_ns").is_null());
      continue;
    }
    EXPECT_GT(candidate.at("time_ns").at("median").get<double>(), 0);
    EXPECT_FALSE(candidate.at("why").get<std::string>().empty());
    if (!candidate.at("chosen").get<bool>()) continue;
    // The plan says of each chosen operator what it computes.
    const std::string head = candidate.at("layers").at(0);
    for (const json& layer : plan.at("layers")) {
      if (layer.at("name") == head) {
        EXPECT_EQ(layer.at("backend"), candidate.at("backend"));
      }
      if (layer.contains("fused_into") && layer.at("fused_into") == head) {
        const json& layers = candidate.at("layers");
        EXPECT_NE(std::find(layers.begin(), layers.end(), layer.at("name")), layers.end());
      }
    }
  }
  EXPECT_EQ(document.at("plans").size(), 2u);
  std::ifstream csv(expand("{dir}/out/tune.csv"));
  std::string line;
  size_t lines = 0;
  while (std::getline(csv, line)) ++lines;
  EXPECT_EQ(lines, 1 + document.at("candidates").size() + document.at("plans").size());

  const ProgramRun replay =
      lenslet("eval --plan {dir}/out/tuned.json --data {dir}/data --save-plan {dir}/out/replayed.json");
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_TRUE(replay.err.empty()) << "same device, same version: no note";
  EXPECT_EQ(read_json("{dir}/out/replayed.json"), plan);
}

TEST(Tune, TheLayeredPlanAndTheFusedOneAreRivals) {
  const ProgramRun run = lenslet(std::string(kQuick) + "--json {dir}/out/rivals.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::set<std::string> plans;
  size_t chosen = 0;
  const json document = read_json("{dir}/out/rivals.json");
  for (const json& plan : document.at("plans")) {
    plans.insert(plan.at("name"));
    chosen += plan.at("chosen").get<bool>() ? 1 : 0;
    EXPECT_EQ(plan.at("status"), "PASSED") << plan;
  }
  EXPECT_EQ(chosen, 1u);
  for (const char* name : {"fused simd", "layered, tuned", "layered, auto"})
    EXPECT_EQ(plans.count(name), 1u) << name;
}

TEST(Tune, BytesAreReadByTheFusedPlanAlone) {
  const ProgramRun run =
      lenslet(std::string(kQuick) +
              "--input uint8 --save-plan {dir}/out/bytes_plan.json --json {dir}/out/bytes.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json document = read_json("{dir}/out/bytes.json"), plan = read_json("{dir}/out/bytes_plan.json");
  EXPECT_TRUE(document.at("candidates").empty());
  EXPECT_EQ(document.at("plans").back().at("status"), "UNSUPPORTED");
  EXPECT_EQ(plan.at("execution"), "fused");
  EXPECT_EQ(plan.at("input"), "uint8");
  const ProgramRun replay = lenslet("eval --plan {dir}/out/bytes_plan.json --data {dir}/data");
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_NE(replay.out.find("uint8 in"), std::string::npos) << replay.out;
}

TEST(Tune, ABackendThatIsGivenHasNoRivals) {
  const ProgramRun run =
      lenslet(std::string(kQuick) + "--backend conv1=im2col_gemm --json {dir}/out/pinned.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json document = read_json("{dir}/out/pinned.json");
  for (const json& candidate : document.at("candidates")) {
    if (candidate.at("layers").at(0) == "conv1") {
      EXPECT_EQ(candidate.at("backend"), "im2col_gemm");
    }
  }
}

TEST(Tune, WhatNobodyServesIsRefusedWithReasons) {
  const ProgramRun run = lenslet(std::string(kQuick) + "--math tf32 --plan layered");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_NE(run.err.find("tf32"), std::string::npos) << run.err;
}

TEST(Tune, WithoutALayeredPlanTheFusedOnesAreStillAsked) {
  const ProgramRun run = lenslet(std::string(kQuick) + "--math tf32 --json {dir}/out/refused.json");
  EXPECT_EQ(run.exit_code, 4);
  const json document = read_json("{dir}/out/refused.json");
  ASSERT_GE(document.at("plans").size(), 2u);
  for (const json& plan : document.at("plans")) {
    EXPECT_EQ(plan.at("status"), "UNSUPPORTED") << plan;
    EXPECT_NE(plan.at("reason").get<std::string>().find("tf32"), std::string::npos) << plan;
  }
}

TEST(Tune, APlanFileIsNothingToTune) {
  const ProgramRun run = lenslet(std::string(kQuick) + "--plan some.json");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("auto|layered|fused"), std::string::npos) << run.err;
}

TEST(Tune, AnInterruptLeavesAValidFileAndNoPlan) {
  ProgramOptions options;
  options.interrupt_after_s = 0.7;
  const ProgramRun run = lenslet(
      "tune --device cpu --batch-size 64 --warmup-ms 0 --min-time-ms 3600000 --plan layered --json "
      "{dir}/out/cut.json --save-plan {dir}/out/cut_plan.json",
      options);
  EXPECT_EQ(run.exit_code, 130) << run.out << run.err;
  EXPECT_EQ(read_json("{dir}/out/cut.json").at("status"), "INTERRUPTED");
  EXPECT_FALSE(std::ifstream(expand("{dir}/out/cut_plan.json")).good());
}

}  // namespace
}  // namespace lenslet::test
