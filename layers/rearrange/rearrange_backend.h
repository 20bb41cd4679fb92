// RearrangeBackend: one way to compute the layers on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"
#include "layers/strides.h"

namespace lenslet {

/// y[y_first + …] = x[x_first + …] for the indices of `places`, whose tensors are x and y.
struct StridedCopy {
  StridedPair places;                ///< Of x and y.
  int64_t x_first = 0, y_first = 0;  ///< Where the first index lies, in values.
};

/// Supports every problem and needs no preparation.
struct RearrangeBackend {
  /// Enqueues on `stream`. Throws DeviceError.
  void (*copy)(const StridedCopy& copy, const float* x, float* y, Stream& stream);
  /// Enqueues y[i] = value for `count` values. Throws DeviceError.
  void (*fill)(float* y, int64_t count, float value, Stream& stream);
};

/// The rows of layers/rearrange/CMakeLists.txt.
const BackendTable<RearrangeBackend>& rearrange_table();

namespace rearrange_backends {
using Interface = RearrangeBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
