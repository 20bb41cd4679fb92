// The refusal of tf32 and fp16 by backends that compute only in fp32.
#pragma once

#include "framework/base/error.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {

/// Yes for fp32; else no. `who` begins the reason: "the CPU".
inline Support fp32_only(const std::string& who, MathMode math) {
  if (math == MathMode::kFp32) return Support::yes();
  return Support::no(concat(who, " computes in fp32 only, not in ", to_string(math), ": use --math fp32"));
}

}  // namespace lenslet
