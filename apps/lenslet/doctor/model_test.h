// The self-test of `doctor --model`: every backend of every layer of one network, and whole passes.
#pragma once

#include <vector>

#include "apps/lenslet/doctor/self_test.h"
#include "framework/graph/graph.h"

namespace lenslet {

/// One row per layer, backend and math mode, also with the layers that the backend fuses into it, on the layer's inputs
/// within a pass of random samples; then one per whole pass. Statuses as for self_test(), but nothing is listed for an
/// unusable device. Ends early after a signal.
std::vector<ResultRow> model_test(const Graph& graph, const SelfTestOptions& options);

}  // namespace lenslet
