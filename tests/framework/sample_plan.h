// A plan of two layers.
#pragma once

#include "framework/execution/plan.h"

namespace lenslet::test {

inline Plan sample_plan() {
  Plan plan;
  plan.model = "lenet5";
  plan.version = "0.1.0";
  plan.device = "cuda:0";
  plan.device_name = "some \"GPU\"";
  plan.batch = 64;
  plan.workspace_bytes = 1024;
  plan.layers = {{"conv1", "conv2d", "winograd", MathMode::kTf32, "WINOGRAD", ""},
                 {"relu1", "relu", "fused", MathMode::kFp32, "", "conv1"}};
  return plan;
}

}  // namespace lenslet::test
