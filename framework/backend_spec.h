// BackendSpec: which backend each layer is asked to take, as written on the command line.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "framework/graph.h"

namespace lenslet {

/// `conv1=direct,conv2=winograd` (by layer) and `cudnn` or `*=cudnn` (every other layer that has a backend of that
/// name), each once; `auto` takes what Layer::preferred says.
class BackendSpec {
 public:
  BackendSpec() = default;
  /// Throws UsageError for a malformed text, and where it names a backend for one layer, or for the others, twice.
  static BackendSpec parse(std::string_view text);
  /// Names the backend of one layer, "*" of all others.
  void set(const std::string& layer, const std::string& backend) { by_layer_[layer] = backend; }
  /// "auto" unless something else was asked for.
  std::string backend_for(const Graph::Node& node, DeviceKind kind) const;
  /// Throws UsageError for a layer the graph does not have, or a backend that no such layer knows (with the
  /// nearest match), for that kind of device; UnavailableError for one that only the other kind has.
  void check(const Graph& graph, DeviceKind kind) const;

 private:
  std::string rest_ = "auto";  // of `*=` or a bare name
  std::map<std::string, std::string> by_layer_;
};

/// The candidate that differs from `text` least, where it is near enough to be a likely slip; else empty.
std::string nearest_match(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace lenslet
