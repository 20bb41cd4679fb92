// BackendSpec: the backend requested for each layer, as text, and resolved against a graph.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace lenslet {

/// `conv1=direct,conv2=winograd` names backends by layer. `cudnn` or `*=cudnn` applies to every other layer that has a
/// backend of that name. Each may occur once. `auto` takes choose_within_math().
class BackendSpec {
 public:
  BackendSpec() = default;
  /// Throws UsageError for a malformed text, and if a layer or `*` occurs twice.
  static BackendSpec parse(std::string_view text);
  /// Sets the backend of one layer, without checks.
  void set(const std::string& layer, const std::string& backend) { by_layer_[layer] = backend; }
  /// The requested backend of each node, in the order of Graph::nodes(); null if none is requested. Throws UsageError
  /// for a layer that the graph does not have, or a backend that the layer does not have (with the nearest match);
  /// UnavailableError for a backend that exists only for the other kind of device.
  std::vector<const BackendEntry*> resolve(const Graph& graph, DeviceKind kind) const;

 private:
  std::string rest_ = "auto";  // of `*=` or a bare name
  std::map<std::string, std::string> by_layer_;
};

/// The shortest candidate that continues `text`, or the one with the smallest edit distance to it, if that is a likely
/// typing error; else empty, as for one character and for text without letters.
std::string nearest_match(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace lenslet
