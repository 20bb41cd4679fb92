#include "framework/graph/backend_spec.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/text.h"
#include "framework/device/other_device.h"

namespace lenslet {

namespace {

std::string with_hint(const std::string& text, const std::vector<std::string>& candidates) {
  const std::string near = nearest_match(text, candidates);
  return (near.empty() ? "" : "did you mean '" + near + "'? ") + "there are: " + comma_list(candidates);
}

std::vector<std::string> all_backends(const Graph& graph, DeviceKind kind) {
  std::vector<std::string> names;
  for (const Graph::Node& node : graph.nodes()) {
    if (!node.layer || !node.layer->uses_math()) continue;
    add_new(names, node.layer->backends(kind));
  }
  return names;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_match(std::string_view text, const std::vector<std::string>& candidates) {
  // Any short word is near to a text of one character or without letters.
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.size() < 2 || std::none_of(text.begin(), text.end(), is_letter)) return {};
  std::string best;
  size_t best_distance = std::max<size_t>(2, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // The shortest that continues `text`.
    const bool continues = text.size() > 3 && candidate.compare(0, text.size(), text) == 0;
    if (continues && (best_distance > 0 || candidate.size() < best.size())) {
      best = candidate;
      best_distance = 0;
    }
    if (candidate.size() > 4 * text.size() + 8 || text.size() > 4 * candidate.size() + 8) continue;
    const size_t distance = edit_distance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

BackendSpec BackendSpec::parse(std::string_view text) {
  BackendSpec spec;
  bool rest_is_named = false;
  const auto malformed = [&](const std::string& what) {
    return UsageError(concat("backend must be NAME or LAYER=NAME[,LAYER=NAME…][,*=NAME], ", what, " in '",
                             printable_excerpt(text), "'"));
  };
  const auto name_rest = [&](const std::string& backend) {
    if (rest_is_named) throw malformed("found a second NAME for the other layers");
    rest_is_named = true;
    spec.rest_ = backend;
  };
  for (const std::string& entry : split(text, ",")) {
    if (entry.empty()) throw malformed("found an empty entry");
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      name_rest(entry);
      continue;
    }
    const std::string layer = entry.substr(0, equals), backend = entry.substr(equals + 1);
    if (layer.empty()) throw malformed("the layer is missing");
    if (backend.empty()) throw malformed("the name is missing");
    if (backend.find('=') != std::string::npos) throw malformed("found '" + printable_excerpt(entry) + "'");
    if (layer == "*") {
      name_rest(backend);
    } else if (!spec.by_layer_.emplace(layer, backend).second) {
      throw malformed(concat("found a second NAME for layer ", printable_excerpt(layer)));
    }
  }
  return spec;
}

std::vector<const BackendEntry*> BackendSpec::resolve(const Graph& graph, DeviceKind kind) const {
  std::vector<std::string> layers;
  for (const Graph::Node& node : graph.nodes()) {
    if (node.layer) layers.push_back(node.name);
  }
  for (const auto& [layer, backend] : by_layer_) {
    if (std::find(layers.begin(), layers.end(), layer) == layers.end()) {
      throw UsageError(concat("no layer '", printable_excerpt(layer), "' in ", graph.name(), "; ",
                              with_hint(layer, layers)));
    }
    const Graph::Node& node = graph.node(layer);
    if (backend == "auto" || node.layer->find_backend(backend, kind)) continue;
    if (node.layer->find_backend(backend, other_kind(kind))) {
      throw only_on_other_device(concat("backend '", printable_excerpt(backend), "' of layer ", layer), kind,
                                 comma_list(node.layer->backends(kind)));
    }
    throw UsageError(concat("no backend '", printable_excerpt(backend), "' for layer ", layer, " on ",
                            to_string(kind), "; ", with_hint(backend, node.layer->backends(kind))));
  }
  const std::vector<std::string> names = all_backends(graph, kind);
  if (rest_ != "auto" && std::find(names.begin(), names.end(), rest_) == names.end()) {
    const std::vector<std::string> others = all_backends(graph, other_kind(kind));
    if (std::find(others.begin(), others.end(), rest_) != others.end())
      throw only_on_other_device(concat("backend '", printable_excerpt(rest_), "'"), kind, comma_list(names));
    throw UsageError(concat("no backend '", printable_excerpt(rest_), "' for ",
                            layers.size() == 1 ? "layer " + layers[0] : "any layer of " + graph.name(),
                            " on ", to_string(kind), "; ", with_hint(rest_, names)));
  }
  std::vector<const BackendEntry*> requested;
  for (const Graph::Node& node : graph.nodes()) {
    const auto found = by_layer_.find(node.name);
    // A bare name or `*` applies only to layers that choose among backends.
    const bool named = node.layer && (found != by_layer_.end() || node.layer->uses_math());
    const std::string& name = found != by_layer_.end() ? found->second : rest_;
    requested.push_back(named ? node.layer->find_backend(name, kind) : nullptr);
  }
  return requested;
}

}  // namespace lenslet
