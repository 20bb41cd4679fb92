// The judge's verdict on one way to compute something.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "layers/reference/compare.h"

namespace lenslet {

/// The verdict over all runs of a verification.
struct VerifyResult {
  bool passed = false;  // all checks with every kind of data passed
  double max_abs = 0;   // largest |y - reference|
  double max_rel = 0;   // over the largest |reference| of that run
  double bound = 0;     // bound of the element that came closest to its bound
  int64_t checked = 0;  // outputs compared with the reference, over all runs
  std::string detail;   // the algorithm that the backend chose
  std::string reason;   // why it did not pass

  /// Adds the comparison of one run.
  void add(const reference::Comparison& comparison) {
    checked += comparison.checked();
    max_abs = std::max(max_abs, comparison.max_abs());
    max_rel = std::max(max_rel, comparison.max_rel());
    bound = std::max(bound, comparison.bound());
  }
};

}  // namespace lenslet
