// How long measuring takes, before it is measured.
#pragma once

#include <vector>

#include "apps/common/ceilings/ceilings.h"
#include "apps/measuring/measure.h"
#include "framework/graph/layer.h"

namespace lenslet {

/// What measuring a group of candidates consists of.
struct ExpectedGroup {
  std::vector<Work> runs;         // of one run of each candidate
  double reference_products = 0;  // of the fp64 reference, for one input number and all data sets
};

/// Seconds that measure() and the reference of its checks take for a group, by the measured ceilings. A rough estimate,
/// which assumes that each candidate reaches a usual share of its ceiling (kUsualShare). `products_per_s`: of the
/// reference.
double expected_seconds(const ExpectedGroup& group, MathMode math, const MeasureOptions& options,
                        const Ceilings& ceilings, double products_per_s);

}  // namespace lenslet
