// Softmax, beyond its subjects (subjects_test.cpp): large values, infinity, NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/softmax/softmax_layer.h"
#include "tests/layers/layer_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using Softmax = LayerTest;

// Any class may be the largest, also the last in the tail after whole vectors.
TEST_F(Softmax, SubtractsTheLargestWhereverItIs) {
  for (const int64_t classes : {3, 10, 17, 33}) {
    for (int64_t largest = 0; largest < classes; ++largest) {
      std::vector<float> x(static_cast<size_t>(classes), -100.0f);
      x[static_cast<size_t>(largest)] = 100.0f;
      const std::vector<float> y = run(SoftmaxLayer(), "direct", {Shape{1, classes}, x});
      for (int64_t i = 0; i < classes; ++i) {
        EXPECT_EQ(y[static_cast<size_t>(i)], i == largest ? 1.0f : 0.0f) << largest << " of " << classes;
      }
    }
  }
}

TEST_F(Softmax, DoesNotOverflow) {
  const std::vector<float> y =
      run(SoftmaxLayer(), "direct", {Shape{2, 3}, {1e30f, 1e30f, -1e30f, 3e38f, -3e38f, -INFINITY}});
  const float expected[] = {0.5f, 0.5f, 0.0f, 1.0f, 0.0f, 0.0f};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], expected[i]) << i;
}

TEST_F(Softmax, ANanSpoilsItsRowAlone) {
  const std::vector<float> y = run(SoftmaxLayer(), "direct", {Shape{2, 2}, {NAN, 1.0f, 0.0f, 0.0f}});
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.5f);
  EXPECT_EQ(y[3], 0.5f);
}

TEST_F(Softmax, RefusesAScalar) {
  expect_error<DataError>([] { SoftmaxLayer().infer_shape({Shape{}}); }, "at least one dimension");
}

}  // namespace
}  // namespace lenslet
