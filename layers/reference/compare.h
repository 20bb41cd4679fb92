// Comparison that accepts only what is close: a NaN on either side is a failure, never a pass.
#pragma once

#include <cstdint>
#include <string>

namespace lenslet::reference {

/// Gathers how far outputs lie from the judge's.
class Comparison {
 public:
  /// Accepts |actual - expected| <= bound. `index` is for the message.
  void add(int64_t index, float actual, double expected, double bound);
  /// Accepts the expected value alone.
  void add_exact(int64_t index, float actual, double expected) { add(index, actual, expected, 0); }

  /// All were close, and there was one at least.
  bool passed() const noexcept { return failures_ == 0 && checked_ > 0; }
  /// Values compared.
  int64_t checked() const noexcept { return checked_; }
  /// Values that were not close.
  int64_t failures() const noexcept { return failures_; }
  /// The largest difference found.
  double max_abs() const noexcept { return max_abs_; }
  /// Largest |actual - expected| over the largest |expected|.
  double max_rel() const noexcept { return max_expected_ > 0 ? max_abs_ / max_expected_ : max_abs_; }
  /// The bound of the element that came nearest to its bound (or passed it by most).
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
