// Unit roundoffs: the largest relative error of a number that is rounded once, in its format's normal range.
#pragma once

#include "framework/tensor/element_type.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {

/// Numbers that are rounded to nearest.
inline constexpr double kUnitFp32 = 0x1p-24;
inline constexpr double kUnitTf32 = 0x1p-11;  ///< Rounded to nearest.
inline constexpr double kUnitFp16 = 0x1p-11;  ///< Rounded to nearest.
inline constexpr double kUnitBf16 = 0x1p-8;   ///< Rounded to nearest.

/// Operands that tensor cores read as tf32: they ignore the bits after the tenth instead of rounding.
inline constexpr double kUnitCutTf32 = 0x1p-10;

/// Results this small may be flushed to 0. A relative bound adds it.
inline constexpr double kFlushedToZero = 0x1p-120;

/// Operands of products in that mode, at worst. Not of int8, whose operands have an absolute error.
constexpr double operand_roundoff(MathMode math) {
  return math == MathMode::kFp32 ? 0 : math == MathMode::kTf32 ? kUnitCutTf32 : kUnitFp16;
}

/// The error of an fp32 result stored as an element of `type`: relative and, for the smallest numbers, absolute.
/// 0 of fp32 itself.
struct StoringError {
  double relative = 0;  ///< Half a unit in the last place, of the value.
  double absolute = 0;  ///< Half of the smallest number above 0.
};
/// The error of storing as `type`, of fp32, fp16 and bf16.
constexpr StoringError storing_error(ElementType type) {
  return type == ElementType::kFp16   ? StoringError{kUnitFp16, 0x1p-25}
         : type == ElementType::kBf16 ? StoringError{kUnitBf16, 0x1p-134}
                                      : StoringError{};
}

}  // namespace lenslet
