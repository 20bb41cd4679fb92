// lenslet tune: candidates, choice, plan, files.
#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/onnx_writer.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

const std::string kQuick = "lenslet tune --device cpu --batch-size 4 --warmup-ms 0 --min-time-ms 2 ";

// Checks that the chosen candidates compute each node once.
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
  expect_run(
      run_line(kQuick + "--plan layered --save-plan {dir}/out/tuned.json --json {dir}/out/tune.json --csv "
                        "{dir}/out/tune.csv"),
      kOk, "CHOSEN|of ceiling|Why, next to|  conv1|fast as with|  fc3 by|fast as with");
  const json document = read_json("{dir}/out/tune.json"), plan = read_json("{dir}/out/tuned.json");
  expect_members(document, {{"schema", "lenslet.tune/1"}, {"status", "COMPLETE"}, {"batch", 4}});
  EXPECT_EQ(chosen_layers(document).size(), 11u) << "every layer of the model once";
  for (const json& candidate : document.at("candidates")) {
    if (candidate.at("status") != "PASSED") {
      EXPECT_FALSE(candidate.at("reason").get<std::string>().empty()) << candidate.dump();
      EXPECT_TRUE(candidate.at("time_ns").is_null());
      continue;
    }
    EXPECT_GT(candidate.at("time_ns").at("median").get<double>(), 0);
    EXPECT_FALSE(candidate.at("why").get<std::string>().empty());
    EXPECT_GT(candidate.at("bytes_ideal").get<double>(), 0);
    EXPECT_GE(candidate.at("products_saved").get<double>(), 1);
    EXPECT_GT(candidate.at("ceiling_fraction").get<double>(), 0);
    EXPECT_FALSE(candidate.at("bound_by").get<std::string>().empty());
    if (!candidate.at("chosen").get<bool>()) continue;
    // The plan lists what each chosen operator computes.
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
  EXPECT_EQ(static_cast<size_t>(count_lines(read_text(expand("{dir}/out/tune.csv")))),
            1 + document.at("candidates").size() + document.at("plans").size());

  const ProgramRun replay = expect_run(
      lenslet("eval --plan {dir}/out/tuned.json --data {dir}/data --save-plan {dir}/out/replayed.json"), kOk);
  EXPECT_TRUE(replay.err.empty()) << "same device, same version: no note";
  EXPECT_EQ(read_json("{dir}/out/replayed.json"), plan);
}

TEST(Tune, TheLayeredPlanAndTheFusedOneAreCandidates) {
  expect_run(run_line(kQuick + "--json {dir}/out/candidates.json"), kOk);
  std::set<std::string> plans;
  size_t chosen = 0;
  const json document = read_json("{dir}/out/candidates.json");
  for (const json& plan : document.at("plans")) {
    plans.insert(plan.at("name"));
    chosen += plan.at("chosen").get<bool>() ? 1 : 0;
    EXPECT_EQ(plan.at("status"), "PASSED") << plan;
    EXPECT_GT(plan.at("ceiling_fraction").get<double>(), 0);
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_GT(document.at("ceilings").at("copy_bytes_per_s").get<double>(), 0);
  for (const char* name : {"fused simd", "layered, tuned", "layered, auto"})
    EXPECT_EQ(plans.count(name), 1u) << name;
}

TEST(Tune, BytesAreReadByTheFusedPlanAlone) {
  expect_run(
      run_line(kQuick + "--input uint8 --save-plan {dir}/out/bytes_plan.json --json {dir}/out/bytes.json"),
      kOk);
  const json document = read_json("{dir}/out/bytes.json"), plan = read_json("{dir}/out/bytes_plan.json");
  EXPECT_TRUE(document.at("candidates").empty());
  EXPECT_EQ(document.at("plans").back().at("status"), "UNSUPPORTED");
  expect_members(plan, {{"execution", "fused"}, {"input", "uint8"}});
  expect_run(lenslet("eval --plan {dir}/out/bytes_plan.json --data {dir}/data"), kOk, "uint8 in");
}

TEST(Tune, ABackendThatIsGivenHasNoOtherCandidates) {
  expect_run(run_line(kQuick + "--backend conv1=im2col_gemm --json {dir}/out/pinned.json"), kOk);
  const json document = read_json("{dir}/out/pinned.json");
  for (const json& candidate : document.at("candidates")) {
    if (candidate.at("layers").at(0) == "conv1") {
      EXPECT_EQ(candidate.at("backend"), "im2col_gemm");
    }
  }
}

// The plan names the layers of the file, and no other network takes it.
TEST(Tune, AnyNetworkIsTunedAndItsPlanReplayed) {
  const std::string model = LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx";
  expect_run(run_line(kQuick + "--model " + model +
                      " --save-plan {dir}/out/network_plan.json --json {dir}/out/network_tune.json"),
             kOk, "mean_pool|stem|CHOSEN|layered, tuned");
  const json document = read_json("{dir}/out/network_tune.json");
  EXPECT_EQ(chosen_layers(document).size(), 8u) << "every layer of the network once";
  for (const json& candidate : document.at("candidates"))
    EXPECT_NE(candidate.at("status"), "FAILED") << candidate;
  const std::string quick = "lenslet profile --device cpu --min-time-ms 1 --warmup-ms 0 ";
  expect_run(run_line(quick + "--model " + model +
                      " --plan {dir}/out/network_plan.json --save-plan {dir}/out/network_replayed.json"),
             kOk, "batch 4|stem");
  EXPECT_EQ(read_json("{dir}/out/network_replayed.json"), read_json("{dir}/out/network_plan.json"));
  expect_run(run_line(quick + "--plan {dir}/out/network_plan.json"), kData, "",
             "the plan is for model mean_pool, this one is lenet5");
  // The same for a plan of a whole network, and before anything is measured.
  expect_run(
      run_line("lenslet eval --device cpu --data {dir}/data --plan fused --save-plan {dir}/out/whole.json"),
      kOk);
  for (const std::string command : {"profile", "bench", "classify {dir}/pics/one.pgm"}) {
    const ProgramRun run = expect_run(
        run_line("lenslet " + command + " --device cpu --model " + model + " --plan {dir}/out/whole.json"),
        kData, "", "whole.json: the plan is for model lenet5, this one is mean_pool");
    EXPECT_EQ(run.out, "") << command;
  }
  expect_run(run_line("lenslet bench --device cpu --batch-sizes 4 --min-time-ms 1 --warmup-ms 0 --model " +
                      model + " --plan {dir}/out/network_plan.json --json {dir}/out/network_bench.json"),
             kOk, "PASSED");
  const json rows = read_json("{dir}/out/network_bench.json").at("results");
  ASSERT_EQ(rows.size(), 1u);
  for (const json& layer : read_json("{dir}/out/network_plan.json").at("layers")) {
    if (layer.at("backend") == "fused") continue;
    expect_words(rows[0].at("detail"),
                 layer.at("name").get<std::string>() + " " + layer.at("backend").get<std::string>());
  }
  expect_words(rows[0].at("repro"), "--plan|network_plan.json");
}

// Logits of hundreds: an exponential's error grows with its argument, and most probabilities are subnormal or 0.
TEST(Tune, ASoftmaxOfLargeLogitsIsWithinItsBound) {
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 1, 8, 8})};
  std::vector<float> weights(6 * 64);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 7919 % 1000) / 100 - 5;
  parts.initializers = {onnx::floats("w", {6, 64}, weights)};
  parts.nodes = {onnx::node("Flatten", {"x"}, "f", {}),
                 onnx::node("Gemm", {"f", "w"}, "g", {onnx::attribute("transB", 1)}),
                 onnx::node("Softmax", {"g"}, "y", {onnx::attribute("axis", 1)})};
  parts.outputs = {onnx::value("y", {-1, 6})};
  write_file("{dir}/out/softmax.onnx", onnx::model_of(parts, 13).bytes());
  expect_run(run_line(kQuick + "--model {dir}/out/softmax.onnx"), kOk, "chosen:");
}

TEST(Tune, MathThatNoBackendSupportsIsRefusedWithReasons) {
  expect_run(run_line(kQuick + "--math tf32 --plan layered"), kUnavailable, "",
             "layer conv1: no backend supports tf32 on cpu");
}

TEST(Tune, WithoutALayeredPlanTheFusedOnesAreStillTried) {
  expect_run(run_line(kQuick + "--math tf32 --json {dir}/out/refused.json"), kUnavailable);
  const json document = read_json("{dir}/out/refused.json");
  ASSERT_GE(document.at("plans").size(), 2u);
  for (const json& plan : document.at("plans")) {
    EXPECT_EQ(plan.at("status"), "UNSUPPORTED") << plan;
    expect_words(plan.at("reason"), "tf32");
  }
}

TEST(Tune, AnInterruptLeavesAValidFileAndNoPlan) {
  ProgramOptions options;
  options.interrupt_when = after_printing("LeNet-5");
  expect_run(
      lenslet("tune --device cpu --batch-size 64 --warmup-ms 0 --min-time-ms 3600000 --plan layered --json "
              "{dir}/out/cut.json --save-plan {dir}/out/cut_plan.json",
              options),
      kInterrupted);
  EXPECT_EQ(read_json("{dir}/out/cut.json").at("status"), "INTERRUPTED");
  EXPECT_FALSE(std::filesystem::exists(expand("{dir}/out/cut_plan.json")));
}

}  // namespace
}  // namespace lenslet::test
