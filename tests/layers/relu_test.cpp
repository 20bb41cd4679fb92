// ReLU against the judge, exactly.
#include <gtest/gtest.h>

#include <cmath>

#include "framework/parallel.h"
#include "layers/relu/relu_layer.h"
#include "tests/layers/layer_fixture.h"

namespace lenslet {
namespace {

class Relu : public LayerTest {
 protected:
  void check(const Shape& shape, uint64_t seed, int64_t shift = 0) {
    const auto x = reference::uniform_values(static_cast<size_t>(shape.num_elements()), seed);
    LayerRun setting{shape, x};
    setting.shift = shift;
    expect_close(run(ReluLayer(), "direct", setting), reference::relu(shape, x.data()), shape.to_string(),
                 [](size_t) { return 0.0; });
  }
};

TEST_F(Relu, IsExactAtEverySize) {
  for (int64_t count : {1, 2, 3, 4, 5, 15, 17, 255, 1021, 4099}) {
    check(Shape{count}, static_cast<uint64_t>(count));
  }
}

TEST_F(Relu, TakesInputsAtAnyAddress) {
  for (const int64_t shift : {1, 2, 3}) {
    for (int64_t count : {1, 5, 1021, 4099}) check(Shape{count}, static_cast<uint64_t>(count), shift);
  }
}

TEST_F(Relu, SharesTheWorkOutAmongThreads) {
  const int before = num_threads();
  set_num_threads(3);
  check({3, 100003}, 7);
  set_num_threads(before);
}

TEST_F(Relu, SeesPlantedFaults) {
  expect_faults_seen_by([&] { check({3, 17}, 9); });
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
