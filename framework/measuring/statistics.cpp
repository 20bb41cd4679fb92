#include "framework/measuring/statistics.h"

#include <algorithm>

namespace lenslet {

double percentile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

TimeStats summarise(std::vector<double> samples_ns) {
  TimeStats stats;
  if (samples_ns.empty()) return stats;
  std::sort(samples_ns.begin(), samples_ns.end());
  stats.samples = samples_ns.size();
  stats.min = samples_ns.front();
  stats.p10 = percentile(samples_ns, 0.1);
  stats.median = percentile(samples_ns, 0.5);
  stats.p90 = percentile(samples_ns, 0.9);
  stats.max = samples_ns.back();
  return stats;
}

}  // namespace lenslet
