// Pooling and storing of finished sums.
#pragma once

#include <cmath>

#include "framework/instructions/scalar.cuh"

namespace lenslet {

/// Lower bound of every output: 0 for ReLU.
__device__ __forceinline__ float output_floor(bool relu) { return relu ? 0.0f : -INFINITY; }

/// The largest of the 2x2 values from column `j` of two rows on, at least `floor`.
template <int kColumns>
__device__ __forceinline__ float max_of_2x2(float floor, const float (&top)[kColumns],
                                            const float (&bottom)[kColumns], int j) {
  return max_keep_nan(max_keep_nan(max_keep_nan(top[j], top[j + 1]), max_keep_nan(bottom[j], bottom[j + 1])),
                      floor);
}

/// Stores up to `count` neighbouring values. `vector`: all four exist, and the address is 16-byte aligned.
__device__ __forceinline__ void store_four(float* target, const float (&out)[4], bool vector, int count) {
  if (vector) {
    *reinterpret_cast<float4*>(target) = make_float4(out[0], out[1], out[2], out[3]);
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (j < count) target[j] = out[j];
  }
}

}  // namespace lenslet
