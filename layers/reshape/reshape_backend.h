// ReshapeBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// What a backend copies.
struct ReshapeProblem {
  int64_t count;  ///< Values of x, and as many of y.
};

/// Supports every shape and needs no preparation.
struct ReshapeBackend {
  /// Enqueues on `stream`; x and y [count]. Throws DeviceError.
  void (*run)(const ReshapeProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/reshape/CMakeLists.txt.
const BackendTable<ReshapeBackend>& reshape_table();

namespace reshape_backends {
using Interface = ReshapeBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
