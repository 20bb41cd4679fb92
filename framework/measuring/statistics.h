// Order statistics of repeated timings.
#pragma once

#include <cstddef>
#include <vector>

namespace lenslet {

/// The quantile of samples in ascending order, at least one, by linear interpolation between order statistics.
double percentile(const std::vector<double>& sorted, double fraction);

/// Times in nanoseconds; the quantiles are those of percentile().
struct TimeStats {
  size_t samples = 0;                                     // their number; 0: the quantiles are meaningless
  double min = 0, p10 = 0, median = 0, p90 = 0, max = 0;  // quantiles, ns
};

/// The quantiles of the samples; all zero if there are none.
TimeStats summarise(std::vector<double> samples_ns);

}  // namespace lenslet
