#include "apps/measuring/expected_time.h"

#include <algorithm>
#include <cmath>

namespace lenslet {
namespace {

// The share of the ceiling that the candidates of `separable` reach on a CPU: of all their hot and cold runs together,
// on two cores of an AMD EPYC.
constexpr double kUsualShare = 0.45;
// Runs of a candidate besides the timed ones: the first call, its duration, and the checks before and after.
constexpr double kCheckingRuns = 8;
constexpr double kOverheadMs = 60;  // of a candidate: preparing it, and judging its outputs

// A turn has at least one run, and one that is not timed before a short one.
double expected_timed_ms(double run_ms, double min_time_ms) {
  const double turn_ms = run_ms * (run_ms * 1e6 < kLongNs ? 2 : 1);
  const double turns = std::clamp(kPatience * min_time_ms / std::max(turn_ms, 1e-6), 1.0, double{kMaxTurns});
  return std::max(min_time_ms, std::floor(turns) * turn_ms);
}

}  // namespace

double expected_seconds(const ExpectedGroup& group, MathMode math, const MeasureOptions& options,
                        const Ceilings& ceilings, double products_per_s) {
  // Inputs: of the timed runs, of the check before, and of the check after.
  const int inputs = options.verify == Verify::kBoth ? 3 : 2;
  double total_ms = inputs * group.reference_products / products_per_s * 1e3;
  for (const Work& work : group.runs) {
    const double best_ns = binding_ceiling(ceilings, work, math, options.hot).best_ns;
    const double run_ms = std::isfinite(best_ns) ? best_ns / kUsualShare / 1e6 : 0;
    const double timed_ms =
        expected_timed_ms(run_ms, options.min_time_ms) * (int{options.hot} + int{options.cold});
    const double warmup_ms = run_ms < options.warmup_ms ? options.warmup_ms : 0;
    total_ms += kCheckingRuns * run_ms + timed_ms + warmup_ms + kOverheadMs;
  }
  return total_ms / 1e3;
}

}  // namespace lenslet
