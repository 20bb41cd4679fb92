#include "models/onnx/summary.h"

#include <algorithm>
#include <unordered_set>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::onnx {
namespace {

constexpr size_t kMostListed = 24;

struct LayerOf {
  std::string layer, reason;
};

LayerOf no_layer(const std::string& reason) { return {"", reason}; }

bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [wanted](int64_t value) { return value == wanted; });
}

LayerOf pool_layer(const Node& node, const Value& x, const char* layer) {
  if (x.shape && x.shape->rank() != 4) return no_layer("Lenslet pools [N, C, H, W] only");
  if (node.integer_or("ceil_mode", 0) != 0) return no_layer("ceil_mode 1 is not supported");
  if (!all_are(node.integers_or("dilations", {}), 1)) return no_layer("dilations are not supported");
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    return no_layer("the output of indices is not supported");
  const auto pads = node.integers_or("pads", {0, 0, 0, 0});
  if (pads.size() == 4 && (pads[0] != pads[2] || pads[1] != pads[3]))
    return no_layer("asymmetric pads are not supported");
  const std::string automatic = node.text_or("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID")
    return no_layer("auto_pad " + printable_excerpt(automatic, 40) + " is not supported");
  return {layer, ""};
}

// Which layer computes a node, by its attributes and by which of its inputs are constant.
LayerOf layer_of(const Node& node, const Values& values, bool follows_product) {
  const auto input = [&](size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty() ? values.find(node.inputs[i]) : values.end();
  };
  const auto constant = [&](size_t i) { return input(i) == values.end() || input(i)->second.is_constant; };
  static const Value none;
  const Value& x = input(0) == values.end() ? none : input(0)->second;
  if (node.op == "Conv") {
    if (!constant(1) || !constant(2)) return no_layer("weights that are not constant are not supported");
    if (x.shape && x.shape->rank() != 4) return no_layer("Lenslet convolves [N, C, H, W] only");
    return {"conv2d", ""};
  }
  if (node.op == "MaxPool") return pool_layer(node, x, "max_pool2d");
  if (node.op == "AveragePool") return pool_layer(node, x, "avg_pool2d");
  if (node.op == "Relu") return {"relu", ""};
  if (node.op == "Gemm" || node.op == "MatMul") {
    if (!constant(1) || !constant(2)) return no_layer("weights that are not constant are not supported");
    if (node.integer_or("transA", 0) != 0) return no_layer("transA 1 is not supported");
    if (node.real_or("alpha", 1) != 1 || node.real_or("beta", 1) != 1)
      return no_layer("alpha and beta other than 1 are not supported");
    if (x.shape && x.shape->rank() != 2) return no_layer("Lenslet multiplies [N, I] by weights only");
    return {"linear", ""};
  }
  if (node.op == "Softmax") {
    const int64_t axis = node.integer_or("axis", -1);
    if (x.shape && axis != -1 && axis != x.shape->rank() - 1)
      return no_layer("softmax over another axis than the last is not supported");
    return {"softmax", ""};
  }
  const bool constant_term = node.inputs.size() == 2 && constant(1) != constant(0);
  if (node.op == "Add" && constant_term && follows_product) return {"bias", ""};
  static const std::vector<std::string> free = {"Identity", "Dropout", "Flatten",
                                                "Reshape",  "Squeeze", "Unsqueeze"};
  if (std::find(free.begin(), free.end(), node.op) != free.end()) return {"none", ""};
  return no_layer(concat("operator ", printable_excerpt(node.op, 40), " is not supported"));
}

std::optional<double> macs_of(const Node& node, const Values& values) {
  if (node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul") return 0.0;
  const auto shape = [&](const std::string& name) { return values.at(name).shape; };
  if (node.inputs.size() < 2) return std::nullopt;
  const std::optional<Shape> a = shape(node.inputs[0]), b = shape(node.inputs[1]),
                             out = shape(node.outputs[0]);
  if (!a || !b || !out) return std::nullopt;
  const auto outputs = static_cast<double>(out->num_elements());
  if (node.op != "Conv") {
    const bool turned = node.op == "Gemm" && node.integer_or("transA", 0) != 0;
    return outputs * static_cast<double>((*a)[turned ? 0 : -1]);
  }
  return outputs * static_cast<double>(b->num_elements()) /
         static_cast<double>(std::max<int64_t>((*b)[0], 1));
}

}  // namespace

Summary summarise(const Model& model, const Values& values) {
  Summary summary;
  summary.macs = 0;
  std::unordered_set<std::string> counted, products;  // products: outputs of convolutions and matrix products
  for (const Node& node : model.nodes) {
    if (values.at(node.outputs.at(0)).is_constant) {
      ++summary.constant_nodes;
      continue;
    }
    NodeSummary row;
    row.node = node.name;
    row.op = node.op;
    if (const auto& shape = values.at(node.outputs[0]).shape) row.output = shape->to_string();
    for (const std::string& input : node.inputs) {
      if (input.empty()) continue;
      const Value& value = values.at(input);
      if (value.is_constant && counted.insert(input).second) row.parameters += value.parameters;
    }
    row.macs = row.output.empty() ? std::nullopt : macs_of(node, values);
    const bool follows_product =
        std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](const std::string& input) { return products.count(input) != 0; });
    LayerOf layer = layer_of(node, values, follows_product);
    if (layer.layer == "conv2d" || layer.layer == "linear") products.insert(node.outputs[0]);
    row.layer = std::move(layer.layer);
    row.reason = std::move(layer.reason);
    summary.parameters += row.parameters;
    summary.macs = summary.macs && row.macs ? std::optional(*summary.macs + *row.macs) : std::nullopt;
    summary.nodes.push_back(std::move(row));
  }
  return summary;
}

std::string unsupported_nodes(const Summary& summary) {
  std::string text;
  size_t count = 0;
  for (const NodeSummary& node : summary.nodes) {
    if (node.reason.empty() || ++count > kMostListed) continue;
    text += concat(text.empty() ? "" : "; ", printable_excerpt(node.node, 60), ": ", node.reason);
  }
  if (count > kMostListed) text += concat("; and ", count - kMostListed, " more: lenslet inspect lists all");
  return text;
}

}  // namespace lenslet::onnx
