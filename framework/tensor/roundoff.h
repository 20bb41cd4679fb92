// Unit roundoffs: the largest relative error of a number that is rounded once, in its format's normal range.
#pragma once

#include "framework/tensor/math_mode.h"

namespace lenslet {

/// Numbers that are rounded to nearest.
inline constexpr double kUnitFp32 = 0x1p-24;
inline constexpr double kUnitTf32 = 0x1p-11;  ///< Rounded to nearest.
inline constexpr double kUnitFp16 = 0x1p-11;  ///< Rounded to nearest.

/// Operands that tensor cores read as tf32: they ignore the bits after the tenth instead of rounding.
inline constexpr double kUnitCutTf32 = 0x1p-10;

/// Results this small may be flushed to 0. A relative bound adds it.
inline constexpr double kFlushedToZero = 0x1p-120;

/// Operands of products in that mode, at worst.
constexpr double operand_roundoff(MathMode math) {
  return math == MathMode::kFp32 ? 0 : math == MathMode::kTf32 ? kUnitCutTf32 : kUnitFp16;
}

}  // namespace lenslet
