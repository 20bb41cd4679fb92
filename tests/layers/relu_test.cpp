// ReLU against the judge, exactly.
#include <gtest/gtest.h>

#include <cmath>

#include "framework/parallel.h"
#include "layers/relu/relu_layer.h"
#include "tests/layers/layer_fixture.h"

namespace lenslet {
namespace {

class Relu : public LayerTest {};

TEST_F(Relu, IsExactAtEverySize) {
  for (int64_t count : {1, 2, 3, 4, 5, 15, 17, 255, 1021, 4099}) {
    const Shape shape{count};
    const auto x = reference::uniform_values(static_cast<size_t>(count), static_cast<uint64_t>(count));
    expect_close(run(ReluLayer(), "direct", {shape, x}), reference::relu(shape, x.data()), shape.to_string(),
                 [](size_t) { return 0.0; });
  }
}

TEST_F(Relu, SharesTheWorkOutAmongThreads) {
  const int before = num_threads();
  set_num_threads(3);
  const Shape shape{3, 100003};
  const auto x = reference::uniform_values(300009, 7);
  expect_close(run(ReluLayer(), "direct", {shape, x}), reference::relu(shape, x.data()), "threads",
               [](size_t) { return 0.0; });
  set_num_threads(before);
}

TEST_F(Relu, LetsNanAndInfinityThrough) {
  const std::vector<float> y = run(ReluLayer(), "direct", {Shape{5}, {NAN, -INFINITY, INFINITY, -0.0f, NAN}});
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[4]));
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], 0.0f);
}

}  // namespace
}  // namespace lenslet
