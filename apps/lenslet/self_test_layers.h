// The self-test of everything but convolutions: linear, pooling, ReLU, softmax and the matrix products. Internal to
// self_test.
#pragma once

#include <functional>
#include <vector>

#include "apps/lenslet/self_test.h"

namespace lenslet {

/// Runs `test`, which fills the row in; what it throws becomes the row's status and reason.
void run_row(ResultRow& row, const std::function<void()>& test);

/// One row for each layer, backend, shape and math mode. Stops early on a signal and after an ERROR row.
std::vector<ResultRow> layer_self_test(const SelfTestOptions& options);

}  // namespace lenslet
