// Internal to ceilings: the operands of the tensor cores' instructions while their rate is measured. They have many
// mantissas and both signs, because equal operands need less power than a product's, and the clock would be higher.
#pragma once

#include <cstdint>

#include "framework/tensor/math_mode.h"

namespace lenslet {

constexpr uint32_t kPairSigns = 0x80008000u;  // the signs of two fp16, or the sign of a tf32

/// One tf32, or two equal fp16, from 0.25 to 0.49: another mantissa for each `place` from 0 to 31.
template <MathMode kMath>
__device__ __forceinline__ uint32_t peak_values(uint32_t place) {
  constexpr uint32_t kTf32Quarter = 0x3e800000u, kFp16Quarters = 0x34003400u;  // 0.25
  constexpr int kTf32Shift = 18;                                               // 1/32 of its mantissas
  constexpr uint32_t kFp16Steps = 0x00200020u;                                 // the same of both fp16
  return kMath == MathMode::kTf32 ? kTf32Quarter + (place << kTf32Shift) : kFp16Quarters + place * kFp16Steps;
}

}  // namespace lenslet
