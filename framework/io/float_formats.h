// Floating-point formats of files, converted to fp32.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace lenslet {

/// The fp32 value with these bits.
inline float float_from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The value of an IEEE binary16 number, exactly.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16, exponent = (half >> 10) & 31u,
                 fraction = half & 0x3ffu;
  if (exponent == 31) return float_from_bits(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {  // zero and subnormals: fraction * 2^-24, exact in fp32
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/// The value of a bfloat16 number, exactly.
inline float bfloat16_to_float(uint16_t bits) { return float_from_bits(uint32_t{bits} << 16); }

}  // namespace lenslet
