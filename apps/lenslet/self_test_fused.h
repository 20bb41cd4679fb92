// The self-test of the fused plan's variants. Internal to self_test.
#pragma once

#include <vector>

#include "apps/lenslet/self_test.h"

namespace lenslet {

/// One row for each variant, math mode, batch, input and output: the built-in model's answers to some pictures. Stops
/// early on a signal and after an ERROR row.
std::vector<ResultRow> fused_self_test(const SelfTestOptions& options);

}  // namespace lenslet
