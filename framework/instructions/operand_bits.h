// Weights as tensor cores take them: rounded on the host, once, when a layer is prepared. Internal: includes CUDA.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace lenslet {

/// fp32 with 10 bits after the leading one, rounded to nearest, ties away from zero, as cvt.rna.tf32 does.
inline uint32_t tf32_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7f800000u) != 0x7f800000u) return (bits + 0x1000u) & ~0x1fffu;
  const bool is_nan = (bits & 0x7fffffu) != 0;
  return is_nan ? bits | 0x400000u : bits;  // a NaN in the low bits alone would be truncated to infinity
}

inline uint16_t fp16_bits(float value) {
  const __half half = __float2half_rn(value);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

/// Writes one rounded operand, 4 or 2 bytes wide, as element `index` of `target`.
inline void put_operand(unsigned char* target, int64_t index, float value, bool tf32) {
  if (tf32) {
    const uint32_t bits = tf32_bits(value);
    std::memcpy(target + index * 4, &bits, 4);
  } else {
    const uint16_t bits = fp16_bits(value);
    std::memcpy(target + index * 2, &bits, 2);
  }
}

}  // namespace lenslet
