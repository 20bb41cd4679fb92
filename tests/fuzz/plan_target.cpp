// Saved plans.
#include "framework/execution/plan.h"

#include "framework/base/text.h"
#include "models/prediction.h"
#include "tests/framework/sample_plan.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

std::vector<std::string> fields_of(const Plan& plan) {
  std::vector<std::string> fields = {plan.model,
                                     plan.version,
                                     plan.device,
                                     plan.device_name,
                                     plan.execution,
                                     to_string(plan.input),
                                     to_string(plan.output),
                                     std::to_string(plan.batch),
                                     std::to_string(plan.workspace_bytes),
                                     std::to_string(plan.activation_bytes)};
  for (const PlanLayer& layer : plan.layers)
    fields.insert(fields.end(), {layer.name, layer.type, layer.backend, to_string(layer.math), layer.choice,
                                 layer.fused_into});
  return fields;
}

Plan plan_of(const std::string& text) {
  return Plan::from_json(text, "plan.json", {ElementType::kFp32, kPrediction});
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(plan) {
  Plan plan;
  if (!accepts("plan.json", [&] { plan = plan_of(text_of(data, size)); })) return;
  check(plan.origin == "plan.json", "a plan keeps the name of its file");
  check(plan.batch >= 0, "a batch is no negative number");
  for (const PlanLayer& layer : plan.layers)
    check(plan.find(layer.name) == &layer, "layers are found by name, each once");
  for (const std::string& field : fields_of(plan))
    check(printable(field) == field && field.size() <= 500, "every text of a plan can be shown");
  check(plan.math() <= MathMode::kFp16, "its math mode is one of ours");
  const std::string text = plan.to_json();
  const Plan again = plan_of(text);
  check(again.to_json() == text, "the text of a plan is unique");
  check(fields_of(again) == fields_of(plan), "written and read again it is the same");
}

LENSLET_FUZZ_SEEDS(plan) {
  Plan plan = test::sample_plan();
  const std::string layered = plan.to_json();
  plan.device = "cpu";
  plan.execution = Plan::kFused;
  plan.input = ElementType::kUint8;
  plan.output = kPrediction;
  plan.layers = {{"lenet5", "fused", "simd", MathMode::kFp16, "", ""}};
  const std::string fused = plan.to_json();
  std::string twice = layered;
  twice.insert(1, "\"batch\": 1e3, ");
  plan.layers.push_back(plan.layers[0]);
  return {
      test::bytes_of(layered),
      test::bytes_of(plan.to_json()),
      test::bytes_of(
          R"({"schema": "lenslet.plan/1", "model": "m", "version": "1", "device": "cpu", "device_name": "d",
            "execution": "layered", "batch": 1, "workspace_bytes": 0, "activation_bytes": 0, "layers": [
            {"name": "a", "type": "t", "backend": "b", "math": "fp16", "choice": "c"},
            {"name": "f", "type": "t", "backend": "fused", "math": "fp32", "fused_into": "a"}]})"),
      test::bytes_of("{\"model\": \"" + std::string(5000, 'x')),
      test::bytes_of(fused),
      test::bytes_of(twice),
      test::bytes_of(layered.substr(0, layered.size() / 2)),
      test::bytes_of("[]"),
      test::bytes_of(layered + std::string(1, '\0') + layered),
      test::bytes_of(R"({"schema": "lenslet.plan/1", "model": "m\u001b[2J"})"),
      test::bytes_of("{\"schema\": \"lenslet.plan/1\", \"model\": " + std::string(100, '[') +
                     std::string(100, ']') + "}"),
      test::bytes_of("{\"schema\": \"lenslet.plan/2\"}")};
}
