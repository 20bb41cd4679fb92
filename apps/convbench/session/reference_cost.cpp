#include "apps/convbench/session/reference_cost.h"

#include <cmath>

#include "framework/base/clock.h"
#include "framework/base/error.h"

namespace lenslet {

double reference_products_per_s() {
  Conv2dProblem problem;
  problem.c = problem.k = 32;
  problem.h = problem.w = 16;
  problem.r = problem.s = 3;
  problem.pad_h = problem.pad_w = 1;
  const double products = problem.flops() / 2;
  try {
    const ConvJudge judge(problem, reference::Fill::kRandom, 1, static_cast<int64_t>(products));
    judge.make_case(0);  // wakes the threads
    constexpr int kCases = 4;
    const double start = host_now_ns();
    for (uint64_t seed = 1; seed <= kCases; ++seed) judge.make_case(seed);
    return kCases * products / (host_now_ns() - start) * 1e9;
  } catch (const InterruptedError&) {
    return INFINITY;  // an interrupted run goes on to its first case, so that it has rows
  }
}

}  // namespace lenslet
