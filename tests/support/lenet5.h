// LeNet-5 with the built-in weights, and the ways to compute it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/execution/executable.h"
#include "models/lenet5.h"

namespace lenslet {

inline const Graph& lenet5() {
  static const Graph graph = make_lenet5(builtin_lenet5_weights(), "the built-in weights");
  return graph;
}

inline BuildOptions options_on(Device device, int64_t batch, const std::string& execution = Plan::kLayered) {
  BuildOptions options;
  options.device = device;
  options.batch = batch;
  options.execution = execution;
  return options;
}

/// Null if a backend, its library or the device is unavailable.
inline std::unique_ptr<Executable> lenet5_if_available(const BuildOptions& options) {
  try {
    return std::make_unique<Executable>(lenet5(), options);
  } catch (const UnavailableError&) {
    return nullptr;
  }
}

/// Options for an Executable, with a name.
using Ways = std::vector<std::pair<std::string, BuildOptions>>;

/// `base` with each backend for both convolutions, also unavailable ones: "direct fp32".
inline Ways layered_ways(const BuildOptions& base) {
  Ways all;
  for (const std::string& backend : lenet5().node("conv1").layer->backends(base.device.kind)) {
    all.emplace_back(concat(backend, " ", to_string(base.math)), base);
    all.back().second.backends = BackendSpec::parse(concat("conv1=", backend, ",conv2=", backend));
  }
  return all;
}

/// `base` with each backend of the whole network, also unavailable ones: "fused simd fp32".
inline Ways fused_ways(const BuildOptions& base) {
  Ways all;
  for (const std::string& backend : lenet5().network()->backends(base.device.kind)) {
    all.emplace_back(concat("fused ", backend, " ", to_string(base.math)), base);
    all.back().second.execution = Plan::kFused;
    all.back().second.backends = BackendSpec::parse(backend);
  }
  return all;
}

}  // namespace lenslet
