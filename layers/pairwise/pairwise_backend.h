// PairwiseBackend: one way to compute the layer on one kind of device.
#pragma once

#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"
#include "layers/rectifier.h"
#include "layers/strides.h"

namespace lenslet {

enum class Pairwise;

/// y[i] = f(a[i], b[i]) for the indices of `places`, whose tensors are a and b; y is in C order.
struct PairwiseProblem {
  Pairwise function{};  ///< Which one.
  Rectifier after;      ///< Applied before storing.
  StridedPair places;   ///< Of a and b; a stride of 0 broadcasts.
};

/// Supports every problem and needs no preparation.
struct PairwiseBackend {
  /// Enqueues on `stream`; y may be an operand that is not broadcast. Throws DeviceError.
  void (*run)(const PairwiseProblem& problem, const float* a, const float* b, float* y, Stream& stream);
};

/// The rows of layers/pairwise/CMakeLists.txt.
const BackendTable<PairwiseBackend>& pairwise_table();

namespace pairwise_backends {
using Interface = PairwiseBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
