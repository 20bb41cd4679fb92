// For backends that compute in one math mode only: refuses every other.
#pragma once

#include "framework/base/error.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {

/// Accepts `only` and refuses every other mode. `who` is the subject of the reason: the backend's name.
inline Support math_only(const std::string& who, MathMode math, MathMode only) {
  if (math == only) return Support::yes();
  return Support::no(concat(who, " computes in ", to_string(only), " only, not in ", to_string(math),
                            ": choose math ", to_string(only)));
}
/// Accepts fp32 and refuses every other mode.
inline Support fp32_only(const std::string& who, MathMode math) {
  return math_only(who, math, MathMode::kFp32);
}

}  // namespace lenslet
