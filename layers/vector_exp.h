// exp(x) for x <= 0 as arithmetic that loops vectorise, because a call of expf prevents vectorising. Internal.
//
// x = n ln 2 + r with |r| <= ln 2 / 2 in two parts (Cody and Waite 1980), e^r by the Taylor polynomial of degree 7
// (remainder below 2^-27 relative), times 2^n by its exponent bits. Total error below 2 ulp; results below 2^-126 are
// flushed to 0. GPU code calls expf.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "framework/tensor/keep_nan.h"

#ifdef __GNUC__
#define LENSLET_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define LENSLET_ALWAYS_INLINE inline
#endif

namespace lenslet {

/// (e^r - 1) / r by the Taylor polynomial of degree 6.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float exp_series(float r) {
  float p = 1.98412698e-4f;  // 1/7!, 1/6!, …
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  return p * r + 1.0f;
}

/// e^x for x <= 0; NaN for NaN.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float exp_nonpositive(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;    // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  constexpr float kSmallest = -87.33654f;  // ln 2^-126
  const float limited = x < kSmallest ? kSmallest : x;  // keeps NaN
  const float biased = limited * kLog2e + kRound;
  const float n = biased - kRound;
  const float r = (limited - n * kLn2High) - n * kLn2Low;
  const float p = exp_series(r) * r + 1.0f;
  uint32_t bits, bias;
  std::memcpy(&bits, &biased, sizeof bits);
  std::memcpy(&bias, &kRound, sizeof bias);
  // 2^n, or 0 below the smallest: arithmetic on bits instead of a branch, so that loops vectorise.
  bits = ((bits - bias + 127u) << 23) & (0u - static_cast<uint32_t>(x >= kSmallest));
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
#endif
}

}  // namespace lenslet
