// ReLU, beyond its subjects (subjects_test.cpp): NaN and infinity.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/relu/relu_layer.h"
#include "tests/layers/layer_fixture.h"

namespace lenslet {
namespace {

using Relu = LayerTest;

TEST_F(Relu, LetsNanAndInfinityThrough) {
  const std::vector<float> y = run(ReluLayer(), "direct", {Shape{5}, {NAN, -INFINITY, INFINITY, -0.0f, NAN}});
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[4]));
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], 0.0f);
}

}  // namespace
}  // namespace lenslet
