// The layers that an embedder sees: shapes, the backend of each, and the layers fused into it.

#include "api/model.h"
#include "framework/execution/executable.h"

namespace lenslet {

std::vector<LayerInfo> layers_of(const Executable& executable) {
  const Graph& graph = executable.graph();
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  const bool whole = executable.plan().execution == Plan::kFused;
  std::vector<LayerInfo> layers;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    if (!node.layer) continue;
    LayerInfo layer;
    layer.name = node.name;
    layer.type = node.layer->type();
    layer.description = node.layer->describe();
    layer.input = shapes[static_cast<size_t>(node.inputs.at(0))].sample();
    layer.output = shapes[i].sample();
    for (const Executable::Step& step : executable.steps()) {
      bool computes = whole || step.name == node.name;
      for (const std::string& fused : step.fused) computes = computes || fused == node.name;
      if (!computes) continue;
      layer.computed_by = step.name;
      layer.backend = step.backend;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace lenslet
