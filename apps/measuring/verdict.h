// Comparing an output with the reference: how much of it, and the result.
#pragma once

#include <cstdint>

#include "apps/measuring/candidate.h"
#include "layers/reference/compare.h"

namespace lenslet {

/// Multiply-adds of the fp64 reference per input: about a hundredth of a second on one core.
inline constexpr int64_t kReferenceMacs = int64_t{1} << 22;

inline Verdict verdict_of(const reference::Comparison& comparison) {
  Verdict verdict;
  verdict.passed = comparison.passed();
  verdict.error = {comparison.max_abs(), comparison.max_rel(), comparison.bound(), comparison.checked()};
  verdict.reason = comparison.reason();
  return verdict;
}

}  // namespace lenslet
