// What implicit_gemm applies to its sums before it stores them. ReLU is an instruction or two of the store. Any other
// rectifier is a pass of its own over the sums, behind one branch: in the store it would cost instructions also where
// there is none. In depthwise, whose kernels are shorter, the branch costs more than those instructions.
#pragma once

#include "framework/tensor/keep_nan.h"
#include "layers/rectifier.h"

namespace lenslet {

/// A part of a kernel's shape; by default it changes nothing.
struct StoreRectifier {
  bool relu = false;   ///< relu_if(relu, sum) at the store.
  bool other = false;  ///< Before that, `after` of every sum with its bias.
  Rectifier after;

  StoreRectifier() = default;
  explicit StoreRectifier(const Rectifier& applied)
      : relu(applied.relu()), other(!applied.none() && !applied.relu()), after(applied) {}

  /// `after` of every sum and the bias of its row, bias_of(i), if it is neither ReLU nor nothing. The store then adds
  /// offset().
  template <int kRows, int kColumns, typename BiasOf>
  __device__ __forceinline__ void apply(float (&sums)[kRows][kColumns], BiasOf bias_of) const {
    if (!other) return;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float offset = bias_of(i);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sums[i][j] = after.of(sums[i][j] + offset);
    }
  }
  /// What the store adds to a sum with this bias: after apply() nothing, which is -0, since 0 would change a -0.
  __device__ __forceinline__ float offset(float bias) const { return other ? -0.0f : bias; }
};

}  // namespace lenslet
