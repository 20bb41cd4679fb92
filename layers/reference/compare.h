// Accepts values that are close, instead of rejecting values that are far: a NaN on either side always fails.
#pragma once

#include <cstdint>
#include <string>

namespace lenslet::reference {

/// Collects the deviations of outputs from the reference's values.
class Comparison {
 public:
  /// Accepts |actual - expected| <= bound. `index` is for the message.
  void add(int64_t index, float actual, double expected, double bound);

  /// True if at least one value was compared and all were close.
  bool passed() const noexcept { return failures_ == 0 && checked_ > 0; }
  /// Values compared.
  int64_t checked() const noexcept { return checked_; }
  /// Values that were not close.
  int64_t failures() const noexcept { return failures_; }
  /// The largest difference found.
  double max_abs() const noexcept { return max_abs_; }
  /// Largest |actual - expected| over the largest |expected|.
  double max_rel() const noexcept { return max_expected_ > 0 ? max_abs_ / max_expected_ : max_abs_; }
  /// The bound of the element that came closest to its bound, or exceeded it most.
  double bound() const noexcept { return bound_; }
  /// "3 of 100 elements differ, first at 17: expected 1.5, found nan, allowed 1e-06"; empty when passed.
  std::string reason() const;

 private:
  int64_t checked_ = 0, failures_ = 0;
  double max_abs_ = 0, max_expected_ = 0, bound_ = 0, worst_share_ = -1;
  int64_t first_index_ = 0;
  float first_actual_ = 0;
  double first_expected_ = 0, first_bound_ = 0;
};

}  // namespace lenslet::reference
