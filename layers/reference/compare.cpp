#include "layers/reference/compare.h"

#include <cmath>

#include "framework/base/error.h"

namespace lenslet::reference {

void Comparison::add(int64_t index, float actual, double expected, double bound) {
  ++checked_;
  const double error = std::fabs(double{actual} - expected);
  const bool close = error <= bound;  // false for NaN
  if (!close && failures_++ == 0) {
    first_index_ = index;
    first_actual_ = actual;
    first_expected_ = expected;
    first_bound_ = bound;
  }
  // A NaN appears in the figures as an infinite error.
  const double shown = std::isnan(error) ? INFINITY : error;
  if (shown > max_abs_) max_abs_ = shown;
  if (std::fabs(expected) > max_expected_) max_expected_ = std::fabs(expected);
  const double share = bound > 0 ? shown / bound : (shown > 0 ? INFINITY : 0);
  if (share > worst_share_) {
    worst_share_ = share;
    bound_ = bound;
  }
}

std::string Comparison::reason() const {
  if (passed()) return {};
  if (checked_ == 0) return "no element was checked";
  return concat(failures_, " of ", checked_, " elements differ, first at ", first_index_, ": expected ",
                first_expected_, ", found ", first_actual_, ", allowed ", first_bound_);
}

}  // namespace lenslet::reference
