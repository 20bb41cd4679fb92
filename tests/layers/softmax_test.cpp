// Softmax against the fp64 judge.
#include <gtest/gtest.h>

#include <cmath>

#include "framework/parallel.h"
#include "layers/softmax/softmax_layer.h"
#include "tests/layers/layer_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

// An exponential within 2 ulp, whose argument x - max carries the rounding of a difference of up to `span`; a sum of
// `classes` terms; a division. Twice, for the exponentials in the sum.
double relative_bound(double classes, double span) { return 0x1p-24 * (2 * (4 + span) + classes + 1); }

class Softmax : public LayerTest {
 protected:
  void check(const Shape& shape, std::vector<float> x, double scale) {
    for (float& value : x) value *= static_cast<float>(scale);
    const reference::Result expected = reference::softmax(shape, x.data());
    const double relative = relative_bound(static_cast<double>(shape[-1]), 2 * scale);
    // Values below the smallest normal number may be flushed to 0.
    expect_close(run(SoftmaxLayer(), "direct", {shape, x}), expected, shape.to_string(),
                 [&](size_t i) { return relative * expected.values[i] + 0x1p-126; });
  }
};

TEST_F(Softmax, AgreesWithFp64) {
  uint64_t seed = 1;
  for (int64_t classes : {1, 2, 3, 10, 15, 16, 17, 33, 100, 1000, 1025, 3001}) {
    for (int64_t rows : {1, 3, 9}) {
      for (double scale : {1.0, 10.0, 80.0}) {
        check({rows, classes}, reference::uniform_values(static_cast<size_t>(rows * classes), seed++), scale);
      }
    }
  }
  check({2, 3, 4, 5}, reference::uniform_values(120, seed), 3);
}

TEST_F(Softmax, SharesTheWorkOutAmongThreads) {
  const int before = num_threads();
  set_num_threads(3);
  check({5001, 10}, reference::uniform_values(50010, 5), 5);
  set_num_threads(before);
}

// The largest class may be any, also the last of those beyond whole vectors.
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

TEST_F(Softmax, SeesPlantedFaults) {
  expect_faults_seen_by([&] { check({3, 10}, reference::uniform_values(30, 11), 10); });
  expect_faults_seen_by([&] { check({2, 1025}, reference::uniform_values(2050, 12), 3); });
}

TEST_F(Softmax, RefusesAScalar) {
  expect_error<DataError>([] { SoftmaxLayer().infer_shape({Shape{}}); }, "at least one dimension");
}

}  // namespace
}  // namespace lenslet
