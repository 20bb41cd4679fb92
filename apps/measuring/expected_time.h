// How long measuring takes, before it is measured.
#pragma once

#include <vector>

#include "apps/common/ceilings/ceilings.h"
#include "apps/measuring/measure.h"
#include "framework/graph/layer.h"

namespace lenslet {

/// Seconds that measure() takes for candidates with this work per run, by the measured ceilings. A rough
/// estimate, which assumes that each candidate reaches a usual share of its ceiling (kUsualShare).
double expected_seconds(const std::vector<Work>& runs, MathMode math, const MeasureOptions& options,
                        const Ceilings& ceilings);

}  // namespace lenslet
