// e^x as arithmetic that loops vectorise, because a call of expf prevents vectorising. Internal.
//
// x = n ln 2 + r with |r| <= ln 2 / 2 in two parts (Cody and Waite 1980), e^r by the Taylor polynomial of degree 7
// (remainder below 2^-27 relative), times 2^n by its exponent bits. Total error below 2 ulp; exp_nonpositive() returns
// 0 for results below 2^-126. GPU code calls expf.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "framework/base/host_device.h"
#include "framework/base/simd.h"

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

/// e^x = rest * 2^n.
struct SplitPower {
  float rest;
  int32_t n;
};
/// For x between -104 and 89; NaN for NaN.
LENSLET_ALWAYS_INLINE SplitPower split_power(float x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float biased = x * kLog2e + kRound;
  const float n = biased - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  uint32_t bits, bias;
  std::memcpy(&bits, &biased, sizeof bits);
  std::memcpy(&bias, &kRound, sizeof bias);
  return {exp_series(r) * r + 1.0f, static_cast<int32_t>(bits - bias)};
}
/// 2^n for n between -126 and 127, AND `mask`.
LENSLET_ALWAYS_INLINE float power_of_two(int32_t n, uint32_t mask = ~0u) {
  const uint32_t bits = (static_cast<uint32_t>(n + 127) << 23) & mask;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

/// e^x for x <= 0; NaN for NaN.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float exp_nonpositive(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  constexpr float kMin = -87.33654f;                          // ln 2^-126
  const SplitPower power = split_power(x < kMin ? kMin : x);  // keeps NaN
  // 0 below the smallest: arithmetic on bits instead of a branch, so that loops vectorise.
  return power.rest * power_of_two(power.n, 0u - static_cast<uint32_t>(x >= kMin));
#endif
}

/// e^x for any x; infinite above 88.7, NaN for NaN. 2^n is applied in two halves, because it can exceed the largest
/// number, or lie below the smallest normal one, where e^x does not.
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float exponential(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  constexpr float kMax = 89.0f, kMin = -104.0f;  // beyond them the result is infinite or 0
  const float above = x < kMin ? kMin : x;
  const SplitPower power = split_power(above > kMax ? kMax : above);
  const int32_t half = power.n >> 1;
  return power.rest * power_of_two(half) * power_of_two(power.n - half);
#endif
}

}  // namespace lenslet
