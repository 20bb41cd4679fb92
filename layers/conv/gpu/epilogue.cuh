// What happens to a finished sum before it is stored.
#pragma once

namespace lenslet {

/// max(value, 0) where asked for. A NaN stays a NaN, which fmaxf would turn into 0.
__device__ __forceinline__ float finish(float value, bool relu) {
  return relu && value < 0.0f ? 0.0f : value;
}

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
