// What the fp64 reference of a convolution costs, for the limit of its products and the time that a run announces.
#pragma once

#include <algorithm>
#include <cstdint>

#include "apps/measuring/verdict.h"
#include "layers/reference/conv_judge.h"

namespace lenslet {

/// Most products that the reference computes for one input of a ReferenceArena.
inline int64_t max_reference_macs(const Conv2dProblem& problem) {
  return std::max(kReferenceMacs, judged_macs(problem));
}
/// The products that it computes.
inline double reference_products(const Conv2dProblem& problem) {
  return std::min(problem.flops() / 2, static_cast<double>(max_reference_macs(problem)));
}

/// Products of the reference per second on this machine as it is now, from a small convolution. Takes some 50 ms.
/// Infinite if a signal arrives meanwhile.
double reference_products_per_s();

}  // namespace lenslet
