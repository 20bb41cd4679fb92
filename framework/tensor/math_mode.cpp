#include "framework/tensor/math_mode.h"

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {

const char* to_string(MathMode math) noexcept {
  switch (math) {
    case MathMode::kFp32:
      return "fp32";
    case MathMode::kTf32:
      return "tf32";
    case MathMode::kFp16:
      return "fp16";
  }
  return "?";
}

MathMode parse_math_mode(std::string_view text) {
  for (MathMode math : kMathModes) {
    if (text == to_string(math)) return math;
  }
  throw UsageError(concat("math mode must be fp32, tf32 or fp16, found '", printable_excerpt(text), "'"));
}

}  // namespace lenslet
