#include "framework/tensor/math_mode.h"

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
    case MathMode::kInt8:
      return "int8";
  }
  return "?";
}

Support int8_refusal() {
  return Support::no(
      "int8 needs a backend that reads bytes: use the whole-network plan on a GPU, or choose math fp16");
}

MathMode parse_math_mode(std::string_view text) {
  for (MathMode math : kMathModes) {
    if (text == to_string(math)) return math;
  }
  throw UsageError(
      concat("math mode must be fp32, tf32, fp16 or int8, found '", printable_excerpt(text), "'"));
}

}  // namespace lenslet
