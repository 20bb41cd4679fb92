// The result of comparing an output with the reference.
#pragma once

#include "apps/measuring/candidate.h"
#include "layers/reference/compare.h"

namespace lenslet {

inline Verdict verdict_of(const reference::Comparison& comparison) {
  Verdict verdict;
  verdict.passed = comparison.passed();
  verdict.error = {comparison.max_abs(), comparison.max_rel(), comparison.bound(), comparison.checked()};
  verdict.reason = comparison.reason();
  return verdict;
}

}  // namespace lenslet
