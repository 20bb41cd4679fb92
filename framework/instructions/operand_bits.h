// Weights as tensor cores take them: rounded on the host, once, when a layer is prepared. Internal: includes CUDA.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "framework/tensor/float_formats.h"

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

/// Writes the bits of an operand as element `index` of `target`.
template <class Bits>
void put_bits(unsigned char* target, int64_t index, Bits bits) {
  std::memcpy(target + index * static_cast<int64_t>(sizeof bits), &bits, sizeof bits);
}

/// Writes a value, rounded to tf32 (4 bytes) or fp16 (2 bytes), as element `index` of `target`.
inline void put_operand(unsigned char* target, int64_t index, float value, bool tf32) {
  tf32 ? put_bits(target, index, tf32_bits(value)) : put_bits(target, index, fp16_bits(value));
}
/// The same, rounded to bf16.
inline void put_bf16_operand(unsigned char* target, int64_t index, float value) {
  put_bits(target, index, float_to_bfloat16(value));
}

}  // namespace lenslet
