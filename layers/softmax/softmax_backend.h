// SoftmaxBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// x and y [outer, classes, inner].
struct SoftmaxProblem {
  int64_t outer = 0, classes = 0, inner = 1;  ///< The values before, of and behind the dimension.
  bool logarithms = false;                    ///< Of the probabilities, instead of them.
};

/// Supports every shape and needs no preparation.
struct SoftmaxBackend {
  /// Enqueues on `stream`. Throws DeviceError.
  void (*run)(const SoftmaxProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/softmax/CMakeLists.txt.
const BackendTable<SoftmaxBackend>& softmax_table();

namespace softmax_backends {
using Interface = SoftmaxBackend;  ///< What LENSLET_BACKEND makes here.
}

}  // namespace lenslet
