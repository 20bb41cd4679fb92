// convbench compare: what became faster or slower between two result files, and what the files cannot decide.
//
// The median of n samples has an uncertainty. Its confidence interval lies between two order statistics for any
// distribution of the samples (W. J. Conover, Practical Nonparametric Statistics, 3.2): ranks n/2 -+ z/2 sqrt(n),
// widened by half a rank, which matters for small n. A file has five quantiles instead of the samples, so the ranks are
// interpolated between min, p10, median, p90 and max. Times are skewed, and the interpolation then omits part of the
// interval; z for 99 % makes up for it: the true median is inside in at least 95 of 100 runs. The interval of a ratio
// of medians reaches from the ratio of opposite ends to that of the others, so it contains the true ratio if both
// intervals contain their medians, and at least as often as the wider one if the other is nearly exact.
#pragma once

#include <string>
#include <vector>

#include "apps/common/results/result_reader.h"
#include "apps/convbench/session/options.h"
#include "framework/base/error.h"

namespace lenslet {

struct Interval {
  double low = NAN, high = NAN;
};

/// With fewer samples the interval does not exist: it would be wider than from the smallest to the largest sample.
constexpr size_t kMinComparedSamples = 6;
/// NaN for fewer samples.
Interval median_interval(const TimeStats& time);

enum class Change { kSame, kFaster, kSlower, kUnclear };
const char* to_string(Change change);

/// One row of both files.
struct ComparedRow {
  const ResultRow* before = nullptr;
  const ResultRow* after = nullptr;
  Change change = Change::kUnclear;
  double ratio = NAN;  // new median / old median; above 1 is slower
  Interval ratio_interval;
  std::string reason;  // for UNCLEAR

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    ResultRow::identity(*self.after, v);
    v("change", to_string(self.change));
    v("old_ns", self.before->time.median)("new_ns", self.after->time.median);
    v("ratio", self.ratio)("ratio_low", self.ratio_interval.low)("ratio_high", self.ratio_interval.high);
    v("reason", self.reason);
  }
};

/// A row without a verdict.
struct UncomparedRow {
  const ResultRow* before = nullptr;  // null: only in the new file
  const ResultRow* after = nullptr;   // null: only in the old file
  std::string reason;
  bool broke = false;  // PASSED before; FAILED, ERROR or SUSPECT now

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    ResultRow::identity(self.after != nullptr ? *self.after : *self.before, v);
    v("in_old", self.before != nullptr)("in_new", self.after != nullptr);
    v("broke", self.broke)("reason", self.reason);
  }
};

struct Comparison {
  std::vector<ComparedRow> rows;  // in the new file's order
  std::vector<UncomparedRow> uncompared;
  std::vector<std::string> warnings;  // other GPUs, other programs, incomplete files

  size_t count(Change change) const;
  size_t broken() const;
};

/// The verdict on one pair of times. FASTER or SLOWER: the whole interval of their ratio is outside the threshold;
/// SAME: it is inside; otherwise UNCLEAR. `threshold`: 0.03 means 3 % in both directions.
ComparedRow compare_times(const ResultRow& before, const ResultRow& after, double threshold);
/// Pairs rows by row_key(). The files must outlive the result.
Comparison compare_results(const ReadResults& before, const ReadResults& after, double threshold);

/// Prints the comparison and writes it to --json. With --strict the exit code is 1 if a row is SLOWER, or was PASSED
/// and is now FAILED, ERROR or SUSPECT.
ExitCode run_compare(const CompareOptions& options);

}  // namespace lenslet
