// ReluBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// What a backend computes: count values.
struct ReluProblem {
  int64_t count;  ///< Of x and of y; 0 or more.
};

/// Supports every shape and needs no preparation.
struct ReluBackend {
  /// Enqueues on `stream`; x and y [count] may be the same. Throws DeviceError.
  void (*run)(const ReluProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/relu/CMakeLists.txt.
const BackendTable<ReluBackend>& relu_table();

namespace relu_backends {
using Interface = ReluBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
