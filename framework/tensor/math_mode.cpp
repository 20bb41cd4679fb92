#include "framework/tensor/math_mode.h"

#include <iterator>

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
      "int8 needs a backend that reads bytes: use the whole-network plan on a GPU, or choose math fp32");
}

std::string math_mode_names() {
  std::string names;
  for (const MathMode math : kMathModes) {
    if (math != kMathModes[0]) names += math == *std::rbegin(kMathModes) ? " or " : ", ";
    names += to_string(math);
  }
  return names;
}

std::optional<MathMode> find_math_mode(std::string_view text) noexcept {
  for (const MathMode math : kMathModes) {
    if (text == to_string(math)) return math;
  }
  return std::nullopt;
}

MathMode parse_math_mode(std::string_view text) {
  if (const std::optional<MathMode> math = find_math_mode(text)) return *math;
  throw UsageError(
      concat("math mode must be ", math_mode_names(), ", found '", printable_excerpt(text), "'"));
}

}  // namespace lenslet
