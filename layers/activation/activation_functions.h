// The functions of the activation layer, on the host and on the GPU. A function is a value of Activation, its name and
// its case in activate(); a and b are its parameters. A NaN stays a NaN. Formulas:
// ONNX's page of operators, https://onnx.ai/onnx/operators/. Internal.
#pragma once

#include <cmath>

#include "framework/base/host_device.h"
#include "framework/tensor/keep_nan.h"
#include "layers/vector_exp.h"

namespace lenslet {

enum class Activation {
  kAbs,
  kCeil,
  kCelu,
  kClip,
  kElu,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLog,
  kMish,
  kNeg,
  kReciprocal,
  kSelu,
  kSigmoid,
  kSilu,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kTanh,
  kThresholdedRelu
};

/// In the order of Activation.
inline constexpr const char* kActivationNames[] = {
    "abs",          "ceil",       "celu",       "clip",    "elu",
    "erf",          "exp",        "floor",      "gelu",    "gelu_tanh",
    "hard_sigmoid", "hard_swish", "leaky_relu", "log",     "mish",
    "neg",          "reciprocal", "selu",       "sigmoid", "silu",
    "softplus",     "softsign",   "sqrt",       "tanh",    "thresholded_relu"};
inline constexpr int kActivations = sizeof kActivationNames / sizeof *kActivationNames;
static_assert(kActivations == static_cast<int>(Activation::kThresholdedRelu) + 1,
              "a name for every function");

/// min(max(x, low), high); NaN stays. The upper limit wins if they cross, as ONNX defines.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float limited(float x, float low, float high) {
  const float above = x < low ? low : x;
  return above > high ? high : above;
}
/// 1 / (1 + e^-x), from an exponential that cannot overflow.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float logistic(float x) {
  const float e = exp_nonpositive(x < 0.0f ? x : -x);
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
/// e^x - 1 for negative x, else 0. Near 0, where the subtraction would leave few digits, by the Taylor polynomial of
/// degree 7: its remainder at kSeries is 2^-26 relative.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float below_zero(float x) {
  constexpr float kSeries = -0.35f;
  const float negative = x > 0.0f ? 0.0f : x;
  return negative > kSeries ? exp_series(negative) * negative : exp_nonpositive(negative) - 1.0f;
}
/// log(1 + u) for 0 <= u <= 1: 2 artanh(u / (2 + u)), whose series of seven terms has a remainder below 2^-26 relative.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float log_of_one_plus(float u) {
#ifdef __CUDA_ARCH__
  return log1pf(u);
#else
  const float s = u / (2.0f + u), t = s * s;
  float p = 1.0f / 13;
  p = p * t + 1.0f / 11;
  p = p * t + 1.0f / 9;
  p = p * t + 1.0f / 7;
  p = p * t + 1.0f / 5;
  p = p * t + 1.0f / 3;
  return 2.0f * (s + s * (t * p));
#endif
}
/// log(1 + e^x).
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float log_of_one_plus_exp(float x) {
  return relu(x) + log_of_one_plus(exp_nonpositive(x < 0.0f ? x : -x));
}
/// tanh |x| = -m / (2 + m) with m = e^-2|x| - 1.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float hyperbolic_tangent(float x) {
#ifdef __CUDA_ARCH__
  return tanhf(x);
#else
  const float m = below_zero(-2.0f * fabsf(x));
  return copysignf(m / (2.0f + m), x);
#endif
}
/// Below 1 the Taylor polynomial of degree 19, whose remainder is below 2^-25 relative; from there on 1 - erfc(|x|)
/// by erfcc() of Press et al., Numerical Recipes, 1992, section 6.2, whose error is below 1.2e-7 of erfc.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float error_function(float x) {
#ifdef __CUDA_ARCH__
  return erff(x);
#else
  const float z = fabsf(x), t = z * z;
  float p = -1.63658447e-07f;  // 2 / sqrt(pi) * (-1)^n / (n! (2n + 1)) from n = 9 down
  p = p * t + 1.64621144e-06f;
  p = p * t - 1.49256504e-05f;
  p = p * t + 0.00012055333f;
  p = p * t - 0.000854832702f;
  p = p * t + 0.00522397763f;
  p = p * t - 0.0268661706f;
  p = p * t + 0.112837917f;
  p = p * t - 0.376126389f;
  p = p * t + 1.12837917f;
  const float u = 1.0f / (1.0f + 0.5f * z);
  float q = 0.17087277f;
  q = q * u - 0.82215223f;
  q = q * u + 1.48851587f;
  q = q * u - 1.13520398f;
  q = q * u + 0.27886807f;
  q = q * u - 0.18628806f;
  q = q * u + 0.09678418f;
  q = q * u + 0.37409196f;
  q = q * u + 1.00002368f;
  q = q * u - 1.26551223f;
  const float beyond = 1.0f - u * exp_nonpositive(q - t);
  return copysignf(z < 1.0f ? z * p : beyond, x);
#endif
}

/// The function of one value.
template <Activation kFunction>
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float activate(float x, float a, float b) {
  constexpr float kHalfRoot = 0.70710678f;                       // sqrt(1 / 2)
  constexpr float kTanhScale = 0.79788456f, kCubic = 0.044715f;  // sqrt(2 / pi); Hendrycks and Gimpel 2016
  switch (kFunction) {
    case Activation::kAbs:
      return fabsf(x);
    case Activation::kCeil:
      return ceilf(x);
    case Activation::kCelu:
      return x < 0.0f ? a * below_zero(x / a) : x;
    case Activation::kClip:
      return limited(x, a, b);
    case Activation::kElu:
      return x < 0.0f ? a * below_zero(x) : x;
    case Activation::kErf:
      return error_function(x);
    case Activation::kExp:
      return exponential(x);
    case Activation::kFloor:
      return floorf(x);
    case Activation::kGelu:
      return 0.5f * x * (1.0f + error_function(x * kHalfRoot));
    case Activation::kGeluTanh:
      return 0.5f * x * (1.0f + hyperbolic_tangent(kTanhScale * (x + kCubic * x * x * x)));
    case Activation::kHardSigmoid:
      return limited(a * x + b, 0.0f, 1.0f);
    case Activation::kHardSwish:
      return x * limited(a * x + b, 0.0f, 1.0f);
    case Activation::kLeakyRelu:
      return x < 0.0f ? a * x : x;
    case Activation::kLog:
      return logf(x);
    case Activation::kMish:
      return x * hyperbolic_tangent(log_of_one_plus_exp(x));
    case Activation::kNeg:
      return -x;
    case Activation::kReciprocal:
      return 1.0f / x;
    case Activation::kSelu:
      return b * (x < 0.0f ? a * below_zero(x) : x);
    case Activation::kSigmoid:
      return logistic(x);
    case Activation::kSilu:
      return x * logistic(x);
    case Activation::kSoftplus:
      return log_of_one_plus_exp(x);
    case Activation::kSoftsign:
      return x / (1.0f + fabsf(x));
    case Activation::kSqrt:
      return sqrtf(x);
    case Activation::kTanh:
      return hyperbolic_tangent(x);
    case Activation::kThresholdedRelu:
      return x <= a ? 0.0f : x;
  }
  return x;
}

}  // namespace lenslet
