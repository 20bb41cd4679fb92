// SoftmaxBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// x and y [outer, classes, inner].
struct SoftmaxProblem {
  int64_t outer = 0, classes = 0, inner = 1;  ///< Elements before, along and after the softmax's dimension.
  bool logarithms = false;                    ///< Whether y gets the logarithms of the probabilities.
};

/// Supports every shape and needs no preparation.
struct SoftmaxBackend {
  /// Enqueues on `stream`. Throws DeviceError.
  void (*run)(const SoftmaxProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/softmax/CMakeLists.txt.
const BackendTable<SoftmaxBackend>& softmax_table();

namespace softmax_backends {
using Interface = SoftmaxBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
