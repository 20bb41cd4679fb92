// The self-test of `doctor`: verifies every backend of every layer and matrix product, and every backend of the
// whole-network plan, with the fp64 reference on a few problems.
#pragma once

#include <vector>

#include "apps/common/results/result_file.h"
#include "apps/lenslet/session/session.h"

namespace lenslet {

struct SelfTestOptions {
  Target target;  // every backend of an unusable device gets SKIPPED
  uint64_t seed = 1;
  size_t workspace_limit = SIZE_MAX;
};

/// One row per backend, problem and math mode: PASSED, FAILED, UNSUPPORTED, SKIPPED or ERROR, with a reason. An
/// unavailable backend (library missing) gets one SKIPPED row. Ends early after a signal.
std::vector<ResultRow> self_test(const SelfTestOptions& options);

}  // namespace lenslet
