// The self-test of `doctor`: every backend of every layer and matrix product, and every variant of the fused plan,
// before the fp64 judge, on a few problems.
#pragma once

#include <string>
#include <vector>

#include "apps/common/result_file.h"
#include "apps/lenslet/session.h"

namespace lenslet {

struct SelfTestOptions {
  Target target;  // every backend of an unusable device is SKIPPED
  uint64_t seed = 1;
  size_t workspace_limit = SIZE_MAX;
};

/// One row for each backend, problem and math mode: PASSED, FAILED, UNSUPPORTED, SKIPPED or ERROR, each with its
/// reason. An unavailable backend (library missing) gives one SKIPPED row. Stops early on a signal.
std::vector<ResultRow> self_test(const SelfTestOptions& options);

}  // namespace lenslet
