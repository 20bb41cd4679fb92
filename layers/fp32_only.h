// For backends that compute in fp32 only: refuses every other math mode.
#pragma once

#include "framework/base/error.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {

/// Accepts fp32 and refuses every other mode. `who` is the subject of the reason: the backend's name.
inline Support fp32_only(const std::string& who, MathMode math) {
  if (math == MathMode::kFp32) return Support::yes();
  return Support::no(concat(who, " computes in fp32 only, not in ", to_string(math), ": choose math fp32"));
}

}  // namespace lenslet
