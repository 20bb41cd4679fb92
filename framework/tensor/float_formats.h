// Floating-point formats of 16 bits, from and to fp32.
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
/// The bits of an fp32 value.
inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
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

/// The nearest IEEE binary16 number, of two the even one; infinity from 65520 on. NaN stays NaN.
inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {  // 2^16
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14: the sum with 0.5, whose last place is 2^-24 as that of a subnormal, rounds.
    half = bits_of_float(float_from_bits(magnitude) + 0.5f) - bits_of_float(0.5f);
  } else {
    half = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

/// The nearest bfloat16 number, of two the even one. NaN stays NaN.
inline uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace lenslet
