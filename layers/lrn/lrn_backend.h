// LrnBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// x and y [samples, channels, inner].
struct LrnProblem {
  int64_t samples = 0, channels = 0, inner = 0;  ///< inner: values of a channel, such as H * W
  int64_t before = 0, after = 0;                 ///< Channels of a window beside its own.
  float scale = 0, beta = 0, bias = 1;           ///< y = x / (bias + scale * sum of x^2)^beta.
};

/// Supports every problem and needs no preparation.
struct LrnBackend {
  /// Enqueues on `stream`. Throws DeviceError.
  void (*run)(const LrnProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/lrn/CMakeLists.txt.
const BackendTable<LrnBackend>& lrn_table();

namespace lrn_backends {
using Interface = LrnBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
