// What the judge finds of one way to compute something.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "layers/reference/compare.h"

namespace lenslet {

/// The verdict over all runs of a verification.
struct VerifyResult {
  bool passed = false;  // every check of every kind of data
  double max_abs = 0;   // largest |y - reference|
  double max_rel = 0;   // over the largest |reference| of that run
  double bound = 0;     // allowed at the element that came nearest to its bound
  int64_t checked = 0;  // outputs compared with the reference, over all runs
  std::string detail;   // what the backend chose inside
  std::string reason;   // why not passed

  /// Adds one run's comparison to the figures.
  void add(const reference::Comparison& comparison) {
    checked += comparison.checked();
    max_abs = std::max(max_abs, comparison.max_abs());
    max_rel = std::max(max_rel, comparison.max_rel());
    bound = std::max(bound, comparison.bound());
  }
};

}  // namespace lenslet
