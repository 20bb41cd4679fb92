// Runs one backend of a layer in guarded memory (layers/reference/guarded_run.h) on the device of this program.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/graph/layer.h"
#include "tests/support/test_device.h"

namespace lenslet {

struct LayerRun {
  Shape input;
  std::vector<float> x;  // host values of the input
  MathMode math = MathMode::kFp32;
  bool fuse_relu = false;
};

/// Whether this build has the module for cuBLAS: then it must be available.
#ifdef LENSLET_TEST_HAS_CUBLAS
inline constexpr bool kHasCublas = true;
#else
inline constexpr bool kHasCublas = false;
#endif

class LayerTest : public DeviceTest<> {
 protected:
  OperatorRequest request_for(const Layer& layer, const LayerRun& run) const;
  /// The output; the test fails for a write outside it or for different bits in a second run.
  std::vector<float> run(const Layer& layer, const std::string& backend, const LayerRun& run);
};

}  // namespace lenslet
