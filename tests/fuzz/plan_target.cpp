// Saved plans.
#include "framework/plan.h"

#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(plan) {
  Plan plan;
  if (!accepts("plan.json", [&] { plan = Plan::from_json(text_of(data, size), "plan.json"); })) return;
  require(plan.origin == "plan.json", "a plan knows its file");
  require(plan.batch >= 0, "a batch is no negative number");
  for (const PlanLayer& layer : plan.layers)
    require(plan.find(layer.name) == &layer, "layers are found by name, each once");
  require(plan.math() <= MathMode::kFp16, "its math mode is one of ours");
  const std::string text = plan.to_json();
  const Plan again = Plan::from_json(text, "plan.json");
  require(again.to_json() == text, "written and read again it is the same");
}

LENSLET_FUZZ_SEEDS(plan) {
  Plan plan;
  plan.model = "lenet5";
  plan.version = "0.1.0";
  plan.device = "cuda:0";
  plan.device_name = "some \"GPU\"";
  plan.batch = 64;
  plan.workspace_bytes = 1024;
  plan.layers = {{"conv1", "conv2d", "winograd", MathMode::kTf32, "WINOGRAD", ""},
                 {"relu1", "relu", "fused", MathMode::kFp32, "", "conv1"}};
  const std::string layered = plan.to_json();
  plan.device = "cpu";
  plan.execution = Plan::kFused;
  plan.input = ElementType::kUint8;
  plan.output = ElementType::kPrediction;
  plan.layers = {{"lenet5", "fused", "simd", MathMode::kFp16, "", ""}};
  const std::string fused = plan.to_json();
  std::string twice = layered;
  twice.insert(1, "\"batch\": 1e3, ");
  return {test::bytes_of(layered),
          test::bytes_of(fused),
          test::bytes_of(twice),
          test::bytes_of(layered.substr(0, layered.size() / 2)),
          test::bytes_of("[]"),
          test::bytes_of("{\"schema\": \"lenslet.plan/1\", \"model\": " + std::string(100, '[') +
                         std::string(100, ']') + "}"),
          test::bytes_of("{\"schema\": \"lenslet.plan/2\"}")};
}
