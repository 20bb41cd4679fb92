// Runs one backend of a layer under watch: outputs and workspace poisoned, canaries around everything, twice.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/layer.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/reference.h"
#include "tests/support/gpu.h"
#include "tests/support/planted_faults.h"

namespace lenslet {

struct LayerRun {
  Shape input;
  std::vector<float> x;  // host values of the input
  MathMode math = MathMode::kFp32;
  bool fuse_relu = false;
  int64_t shift = 0;  // of input and output from an aligned address, in values
};

/// Whether this build has the module for cuBLAS: then it must serve.
#ifdef LENSLET_TEST_HAS_CUBLAS
inline constexpr bool kHasCublas = true;
#else
inline constexpr bool kHasCublas = false;
#endif

class LayerTest : public testing::Test {
 protected:
  LayerTest();
  void SetUp() override;

  OperatorRequest request_for(const Layer& layer, const LayerRun& run) const;
  /// Output of the second of two runs on memory poisoned with different patterns. Fails the test where the two differ
  /// in a bit, or anything outside the output and the workspace changed, the input included.
  std::vector<float> run(const Layer& layer, const std::string& backend, const LayerRun& run);
  /// Every |y - expected| <= bound(index), NaN never; with a bound of 0 the values must be equal.
  template <typename Bound>
  static void expect_close(const std::vector<float>& y, const reference::Result& expected,
                           const std::string& what, Bound bound) {
    ASSERT_EQ(y.size(), expected.values.size()) << what;
    reference::Comparison comparison;
    for (size_t i = 0; i < y.size(); ++i) {
      comparison.add(static_cast<int64_t>(i), y[i], expected.values[i], bound(i));
    }
    EXPECT_TRUE(comparison.passed()) << what << ": " << comparison.reason();
  }

  /// That `check`, which calls run() and expect_close(), sees whatever is wrong with what a backend computes.
  template <typename Check>
  void expect_faults_seen_by(Check&& check) {
    constexpr double kSmallError = 1e-3;
    expect_faults_seen("elements differ", kSmallError, [&](const Fault& fault) {
      fault_ = fault;
      check();
      fault_ = nullptr;
    });
  }

  Device device_;

 private:
  Fault fault_;  // in what run() runs
};

}  // namespace lenslet
