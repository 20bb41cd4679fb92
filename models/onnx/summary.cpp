#include "models/onnx/summary.h"

#include <algorithm>
#include <unordered_set>

#include "framework/base/error.h"

namespace lenslet::onnx {
namespace {

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

Summary summarise(const Model& model, const Values& values, const std::vector<NodeResult>& node_results) {
  Summary summary;
  summary.macs = 0;
  std::unordered_set<std::string> counted;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const Node& node = model.nodes[i];
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
    row.layer = node_results[i].layer;
    row.reason = node_results[i].reason;
    summary.parameters += row.parameters;
    summary.macs = summary.macs && row.macs ? std::optional(*summary.macs + *row.macs) : std::nullopt;
    summary.nodes.push_back(std::move(row));
  }
  return summary;
}

}  // namespace lenslet::onnx
