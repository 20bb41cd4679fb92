// Internal: the lanes of a warp in the whole-network backends: sums and the prediction over them.
#pragma once

#include <cstdint>

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/common.cuh"

namespace lenslet::fused_lenet5 {

__device__ __forceinline__ int lane_of() { return static_cast<int>(threadIdx.x & 31); }
__device__ __forceinline__ int warp_of() { return static_cast<int>(threadIdx.x >> 5); }

/// Hides from the compiler what `value` is. So it computes nothing that depends on it before this place.
__device__ __forceinline__ void hide_value(int& value) { asm volatile("" : "+r"(value)); }

/// Sums kCount values over the lanes that differ in the bits below 2 * kBit. At each step a lane keeps half of the
/// values, so values[0] becomes the sum of value kept_value(lane). Lanes that no step separated hold the same sum.
template <int kBit, int kCount>
__device__ __forceinline__ void sum_over_lanes(float* values) {
  if constexpr (kCount == 1) {
    values[0] += __shfl_xor_sync(kAllLanes, values[0], kBit);
    if constexpr (kBit > 1) sum_over_lanes<kBit / 2, 1>(values);
  } else {
    constexpr int kHalf = (kCount + 1) / 2;
    const bool upper = (threadIdx.x & kBit) != 0;
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const float low = values[i], high = i + kHalf < kCount ? values[i + kHalf] : 0.0f;
      values[i] = (upper ? high : low) + __shfl_xor_sync(kAllLanes, upper ? low : high, kBit);
    }
    if constexpr (kBit > 1) sum_over_lanes<kBit / 2, kHalf>(values);
  }
}
constexpr int kNoValue = 1 << 20;
template <int kBit, int kCount>
__device__ __forceinline__ int kept_value(int lane) {
  if constexpr (kCount == 1) {
    return 0;
  } else {
    constexpr int kHalf = (kCount + 1) / 2;
    int index = 0;
    if constexpr (kBit > 1) index = kept_value<kBit / 2, kHalf>(lane);
    if (lane & kBit) index += kHalf;
    return index < kCount ? index : kNoValue;
  }
}

/// Class and probability of the logits in lanes 0..9, for all lanes of a warp. A NaN among them makes the probability
/// NaN.
__device__ __forceinline__ Prediction predict_from_lanes(float logit) {
  Prediction prediction;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  constexpr float kUnit = 1 << 27;  // ten terms of at most 1 fit in 32 bits of fixed point
  const bool counts = lane_of() < kClasses;
  const int bits = __float_as_int(logit + 0.0f);  // -0 becomes 0
  const int key = counts ? (bits < 0 ? bits ^ INT32_MAX : bits) : INT32_MIN;
  const int top = __reduce_max_sync(kAllLanes, key);
  prediction.label = __ffs(static_cast<int>(__ballot_sync(kAllLanes, key == top))) - 1;
  const float largest = __int_as_float(top < 0 ? top ^ INT32_MAX : top);
  const float term = exp2f((logit - largest) * 1.44269504f);
  const unsigned sum = __reduce_add_sync(kAllLanes, counts ? __float2uint_rn(term * kUnit) : 0u);
  prediction.probability = __fdividef(kUnit, __uint2float_rn(sum)) + (largest - largest);
#endif
  return prediction;
}

/// To predictions [N] one store of eight bytes, so that a polling host sees both or none; to labels [N] and
/// `probabilities` [N] if these are apart.
__device__ __forceinline__ void store_prediction(void* output, float* probabilities, int64_t image,
                                                 const Prediction& prediction) {
  if (probabilities) {
    static_cast<int32_t*>(output)[image] = prediction.label;
    probabilities[image] = prediction.probability;
    return;
  }
  asm volatile("{\n.reg .b64 both;\nmov.b64 both, {%1, %2};\nst.relaxed.sys.global.b64 [%0], both;\n}" ::"l"(
                   static_cast<Prediction*>(output) + image),
               "r"(prediction.label), "f"(prediction.probability)
               : "memory");
}

}  // namespace lenslet::fused_lenet5
