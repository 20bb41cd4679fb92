#include "models/onnx/read/check_graph.h"

#include <unordered_map>
#include <unordered_set>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::onnx {

std::string in_quotes(const std::string& name) { return "\"" + printable_excerpt(name, 100) + "\""; }

void check_graph(const Model& model, const std::string& origin) {
  if (model.nodes.empty() || model.inputs.empty() || model.outputs.empty())
    throw DataError(concat(origin, ": the graph has ", model.nodes.size(), " nodes, ", model.inputs.size(),
                           " inputs and ", model.outputs.size(), " outputs, expected some of each"));
  std::unordered_map<std::string, const Node*> producers;
  for (const Node& node : model.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) producers.emplace(output, &node);

  std::unordered_set<std::string> known;
  for (const auto& [name, tensor] : model.initializers) known.insert(name);
  for (const ValueInfo& input : model.inputs)
    if (!known.insert(input.name).second)
      throw DataError(concat(origin, ": two inputs are called ", in_quotes(input.name)));
  const auto check_produced = [&](const std::string& reader, const std::string& name) {
    if (name.empty() || known.count(name)) return;
    const auto later = producers.find(name);
    if (later == producers.end())
      throw DataError(concat(origin, ": ", reader, " reads ", in_quotes(name),
                             ", which is no input, no initializer and no output of a node"));
    throw DataError(concat(origin, ": ", reader, " reads ", in_quotes(name), ", which node ",
                           in_quotes(later->second->name),
                           " produces later; the graph has a cycle or is not in the order of execution"));
  };
  for (const Node& node : model.nodes) {
    const std::string reader = "node " + in_quotes(node.name);
    for (const std::string& input : node.inputs) check_produced(reader, input);
    for (const std::string& output : node.outputs)
      if (!output.empty() && !known.insert(output).second)
        throw DataError(concat(origin, ": ", reader, " produces ", in_quotes(output),
                               ", which exists before; a value has one producer"));
  }
  for (const ValueInfo& output : model.outputs) check_produced("the graph's output", output.name);
}

}  // namespace lenslet::onnx
