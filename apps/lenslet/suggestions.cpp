#include "apps/lenslet/suggestions.h"

#include <utility>

#include "framework/base/text.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

Graph model() { return make_lenet5(builtin_lenet5_weights(), "the built-in weights"); }

void add_network_backends(std::vector<std::string>& words, const Graph& graph) {
  if (graph.network() == nullptr) return;
  for (const DeviceKind kind : kDeviceKinds) add_new(words, graph.network()->backends(kind));
}

}  // namespace

Suggestions backend_suggestions() {
  const Graph graph = model();
  Suggestions suggestions;
  suggestions.words.push_back("auto");
  for (const Graph::Node& node : graph.nodes()) {
    if (!node.layer) continue;
    std::vector<std::string> backends = {"auto"};
    for (const DeviceKind kind : kDeviceKinds) add_new(backends, node.layer->backends(kind));
    add_new(suggestions.words, backends);
    suggestions.keys.push_back({node.name, std::move(backends)});
  }
  suggestions.keys.push_back({"*", suggestions.words});
  add_network_backends(suggestions.words, graph);
  return suggestions;
}

Suggestions network_backend_suggestions() {
  Suggestions suggestions;
  suggestions.words.push_back("all");
  add_network_backends(suggestions.words, model());
  return suggestions;
}

}  // namespace lenslet
