// SoftmaxBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

/// Supports every shape and needs no preparation.
struct SoftmaxBackend {
  /// Enqueues on `stream`; x and y [rows, classes]. Throws DeviceError.
  void (*run)(const float* x, float* y, int64_t rows, int64_t classes, Stream& stream);
};

/// The rows of layers/softmax/CMakeLists.txt.
const BackendTable<SoftmaxBackend>& softmax_table();

namespace softmax_backends {
using Interface = SoftmaxBackend;  ///< What LENSLET_BACKEND makes here.
}

}  // namespace lenslet
