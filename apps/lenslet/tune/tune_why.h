// Why one candidate is faster than another: what they compute and move, and how near they come to a measured ceiling.
#pragma once

#include <cmath>
#include <string>

#include "apps/common/ceilings/ceilings.h"
#include "apps/common/fields/fields.h"
#include "framework/execution/executable.h"
#include "framework/execution/tuner.h"

namespace lenslet {

/// The work of one operator, or of several in order.
struct Effort {
  double flops = 0;      // of the direct algorithm
  double computed = 0;   // the same divided by Operator::products_saved() of each operator
  double bytes = 0;      // read and written, each once
  double best_ns = 0;    // the shortest possible time by the measured ceilings; NaN if none was measured
  std::string bound_by;  // the ceiling that sets the largest part of best_ns

  void add(const Work& work, double products_saved, MathMode math, const Ceilings& ceilings);
  void add(const Effort& other);
  double products_saved() const { return computed > 0 ? flops / computed : 1; }
  /// The share of the ceiling that this median reaches; NaN if it is unknown.
  double share(const TimeStats& time) const {
    return time.median > 0 && best_ns > 0 ? best_ns / time.median : NAN;
  }

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    const bool known = self.bytes > 0;
    v("flops", known ? self.flops : NAN)("bytes_ideal", known ? self.bytes : NAN);
    v("products_saved", known ? self.products_saved() : NAN)("bound_by", self.bound_by);
  }

 private:
  double largest_ns_ = 0;  // of the parts
};

/// The steps of a pass together.
Effort effort_of(const Executable& executable, const Ceilings& ceilings);

/// Something that was timed.
struct Timed {
  std::string name;
  TimeStats time;
  Effort effort;
};

/// "conv1 by direct: 149 us, 2.9 times as fast as with conv1 by onednn (432 us), because it moves 1.1 MiB instead of
/// 3.2 MiB". `next` is what else could be taken. What is better about `next` follows "although".
std::string why_chosen(const Timed& chosen, const Timed& next);

}  // namespace lenslet
