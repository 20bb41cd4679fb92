// How finished sums are stored.
#pragma once

#include "framework/keep_nan.h"

namespace lenslet {

/// Stores up to `count` neighbouring values; `vector` says that all four exist and the
/// address is 16-byte aligned.
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
