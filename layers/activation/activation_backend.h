// ActivationBackend: one way to compute the layer on one kind of device.
#pragma once

#include <cstdint>

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"

namespace lenslet {

enum class Activation;

/// A function and its parameters, as activation_functions.h uses them.
struct ActivationProblem {
  Activation function{};  ///< Which one.
  float a = 0, b = 0;     ///< Its parameters.
  int64_t count = 0;      ///< Values of x and of y.
};

/// Supports every shape and needs no preparation.
struct ActivationBackend {
  /// Enqueues on `stream`; x and y may be the same. Throws DeviceError.
  void (*run)(const ActivationProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/activation/CMakeLists.txt.
const BackendTable<ActivationBackend>& activation_table();

namespace activation_backends {
using Interface = ActivationBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
