// Math mode: the arithmetic of a layer. Always printed; there is no silent fallback.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "framework/base/error.h"

namespace lenslet {

/// Arithmetic of convolutions and matrix products.
enum class MathMode {
  kFp32,  // fp32 products and sums, the default
  kTf32,  // products of operands rounded to 10 mantissa bits, fp32 accumulation
  kFp16,  // products of fp16 operands, fp32 accumulation
  kInt8   // convolutions of 8-bit integers, exact sums; only of layers that read bytes (Layer::converts_ends)
};

/// Every math mode, the most exact first.
inline constexpr MathMode kMathModes[] = {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16, MathMode::kInt8};
/// The math modes in which a layer of fp32 tensors can compute.
inline constexpr MathMode kFloatMathModes[] = {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16};

/// "fp32", "tf32", "fp16" or "int8".
const char* to_string(MathMode math) noexcept;
/// "fp32, tf32, fp16 or int8": what a message expects.
std::string math_mode_names();
/// Inverse of to_string; nullopt for another text.
std::optional<MathMode> find_math_mode(std::string_view text) noexcept;
/// The same. Throws UsageError with the legal values for another text.
MathMode parse_math_mode(std::string_view text);
/// No, with the reason, of whatever computes in fp32, tf32 or fp16 alone.
Support int8_refusal();

}  // namespace lenslet
