#include "framework/execution/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/strict_json.h"
#include "framework/base/text.h"

namespace lenslet {

using nlohmann::ordered_json;

namespace {

constexpr size_t kMaxTextBytes = 500;  // names; a library's choice is the longest

class Reader {
 public:
  Reader(const ordered_json& object, const std::string& origin, const std::string& where)
      : object_(object), origin_(origin), where_(where) {
    if (!object.is_object())
      throw DataError(concat(origin, ": ", where, " must be an object, found ", object.type_name()));
  }

  const ordered_json& field(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw DataError(concat(origin_, ": ", where_, " lacks \"", key, "\""));
    return *found;
  }
  std::string text(const char* key) const {
    const ordered_json& value = field(key);
    if (!value.is_string()) throw wrong(key, "a string", value);
    std::string text = value.get<std::string>();
    // The text is printed in tables and messages.
    if (text.size() > kMaxTextBytes || printable(text) != text)
      throw wrong(key, concat("at most ", kMaxTextBytes, " bytes of printable text").c_str(), value);
    return text;
  }
  int64_t count(const char* key) const {
    const ordered_json& value = field(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX)
      throw wrong(key, "a whole number >= 0", value);
    return value.get<int64_t>();
  }
  // fp32 if the key is absent, as in old plans.
  ElementType element(const char* key, const std::vector<ElementType>& legal) const {
    if (!object_.contains(key)) return ElementType::kFp32;
    const std::string found = text(key);
    std::string names;
    for (const ElementType type : legal) {
      if (found == to_string(type)) return type;
      names += concat(names.empty() ? "\"" : " or \"", to_string(type), "\"");
    }
    throw wrong(key, names.c_str(), field(key));
  }
  DataError wrong(const char* key, const char* expected, const ordered_json& value) const {
    return DataError(concat(origin_, ": \"", key, "\" of ", where_, " must be ", expected, ", found ",
                            json_excerpt(value)));
  }

 private:
  const ordered_json& object_;
  const std::string& origin_;
  std::string where_;
};

}  // namespace

const PlanLayer* Plan::find(const std::string& layer) const noexcept {
  for (const PlanLayer& entry : layers) {
    if (entry.name == layer) return &entry;
  }
  return nullptr;
}

void Plan::check_is_for(const std::string& graph) const {
  if (model != graph)
    throw DataError(concat(origin, ": the plan is for model ", model, ", this one is ", graph,
                           "; choose that model, or another plan"));
}

MathMode Plan::math() const noexcept {
  MathMode loosest = MathMode::kFp32;
  for (const PlanLayer& layer : layers) loosest = std::max(loosest, layer.math);
  return loosest;
}

std::string Plan::to_json() const {
  ordered_json root = {{"schema", kSchema},
                       {"model", model},
                       {"version", version},
                       {"device", device},
                       {"device_name", device_name},
                       {"execution", execution},
                       {"input", to_string(input)},
                       {"output", to_string(output)},
                       {"batch", batch},
                       {"workspace_bytes", workspace_bytes},
                       {"activation_bytes", activation_bytes},
                       {"layers", ordered_json::array()}};
  for (const PlanLayer& layer : layers) {
    ordered_json entry = {{"name", layer.name},
                          {"type", layer.type},
                          {"backend", layer.backend},
                          {"math", to_string(layer.math)}};
    if (!layer.choice.empty()) entry["choice"] = layer.choice;
    if (!layer.fused_into.empty()) entry["fused_into"] = layer.fused_into;
    if (layer.output.value_or(ElementType::kFp32) != ElementType::kFp32)
      entry["output"] = to_string(*layer.output);
    root["layers"].push_back(std::move(entry));
  }
  return root.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

Plan Plan::from_json(const std::string& text, const std::string& origin,
                     const std::vector<ElementType>& outputs) {
  if (text.size() > kMaxBytes) {
    throw DataError(concat(origin, ": a plan has at most ", kMaxBytes, " bytes, found ", text.size()));
  }
  const ordered_json root = parse_strict_json(text, origin);
  const Reader plan_reader(root, origin, "the plan");
  if (const std::string schema = plan_reader.text("schema"); schema != kSchema) {
    throw DataError(
        concat(origin, ": schema must be \"", kSchema, "\", found \"", printable_excerpt(schema), "\""));
  }
  Plan plan;
  plan.origin = origin;
  plan.model = plan_reader.text("model");
  plan.version = plan_reader.text("version");
  plan.device = plan_reader.text("device");
  if (plan.device != "cpu" && plan.device.rfind("cuda:", 0) != 0) {
    throw plan_reader.wrong("device", "\"cpu\" or \"cuda:N\"", plan_reader.field("device"));
  }
  plan.device_name = plan_reader.text("device_name");
  plan.execution = plan_reader.text("execution");
  if (plan.execution != kLayered && plan.execution != kFused) {
    throw plan_reader.wrong("execution", "\"layered\" or \"fused\"", plan_reader.field("execution"));
  }
  plan.input = plan_reader.element("input", {ElementType::kFp32, ElementType::kUint8, ElementType::kUint4});
  plan.output = plan_reader.element("output", outputs);
  plan.batch = plan_reader.count("batch");
  plan.workspace_bytes = static_cast<size_t>(plan_reader.count("workspace_bytes"));
  plan.activation_bytes = static_cast<size_t>(plan_reader.count("activation_bytes"));
  const ordered_json& layers = plan_reader.field("layers");
  if (!layers.is_array()) throw plan_reader.wrong("layers", "an array", layers);
  if (layers.size() > Plan::kMaxLayers)
    throw DataError(
        concat(origin, ": a plan has at most ", Plan::kMaxLayers, " layers, found ", layers.size()));
  for (const ordered_json& entry : layers) {
    const Reader reader(entry, origin, concat("layer ", plan.layers.size()));
    PlanLayer layer;
    layer.name = reader.text("name");
    layer.type = reader.text("type");
    layer.backend = reader.text("backend");
    try {
      layer.math = parse_math_mode(reader.text("math"));
    } catch (const UsageError& error) {
      throw DataError(concat(origin, ": layer ", printable_excerpt(layer.name), ": ", error.what()));
    }
    if (entry.contains("choice")) layer.choice = reader.text("choice");
    if (entry.contains("fused_into")) layer.fused_into = reader.text("fused_into");
    layer.output = reader.element("output", {ElementType::kFp32, ElementType::kFp16});
    if (plan.find(layer.name))
      throw DataError(concat(origin, ": layer ", printable_excerpt(layer.name), " is listed twice"));
    plan.layers.push_back(std::move(layer));
  }
  return plan;
}

}  // namespace lenslet
