// Internal: common parts of the GPU backends of the whole-network LeNet-5.
#pragma once

#include "models/lenet5_sizes.h"
#include "models/prediction.h"

namespace lenslet::fused_lenet5 {

inline constexpr int kPixels = kLenet5Pixels;
inline constexpr int kClasses = kLenet5Classes;

// ReLU and maxima on the bits of floats, compared as integers. Positive floats have the same order as their bits.
// Negative floats have negative integers as bits, so zero is larger. A NaN from an FFMA is 0x7fffffff and larger than
// every number, so it stays visible in the output; fmaxf would drop it. From compute capability 9.0 on, one instruction
// compares three operands and zero.

/// max(a, 0).
__device__ __forceinline__ float relu_bits(float a) { return __int_as_float(max(__float_as_int(a), 0)); }

/// max(a, b, c, d, 0): ReLU and 2x2 pooling.
__device__ __forceinline__ float relu_pool_bits(float a, float b, float c, float d) {
  return __int_as_float(
      __vimax3_s32_relu(__float_as_int(a), __float_as_int(b), max(__float_as_int(c), __float_as_int(d))));
}

/// Class and probability, 1 / sum exp(logit - largest). A NaN among the logits makes the probability NaN.
__device__ __forceinline__ Prediction predict(const float (&logits)[kClasses]) {
  Prediction prediction;
  float largest = logits[0];
#pragma unroll
  for (int k = 1; k < kClasses; ++k) {
    if (logits[k] > largest) {
      largest = logits[k];
      prediction.label = k;
    }
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kClasses; ++k) sum += expf(logits[k] - largest);
  prediction.probability = 1 / sum;
  return prediction;
}

/// Writes the prediction of an image to predictions [N], or, if `probabilities` [N] are apart, to them and labels [N].
__device__ __forceinline__ void write_prediction(Prediction* output, float* probabilities, int64_t image,
                                                 const Prediction& prediction) {
  if (probabilities) {
    reinterpret_cast<int32_t*>(output)[image] = prediction.label;
    probabilities[image] = prediction.probability;
  } else {
    output[image] = prediction;
  }
}

}  // namespace lenslet::fused_lenet5
