// Pooling, beyond its subjects (subjects_test.cpp): NaN, padding, refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/pool/pool_layer.h"
#include "tests/layers/layer_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using Pool = LayerTest;

TEST_F(Pool, ANanInTheWindowMakesTheMaximumNan) {
  for (const Pool2dWindow& window : {Pool2dWindow::square(2, 2), Pool2dWindow::square(2, 1)}) {
    for (const size_t place : {0, 1, 8, 9}) {
      std::vector<float> x(64, 1.0f);
      x[place] = NAN;
      const std::vector<float> y = run(MaxPool2dLayer(window), "direct", {Shape{1, 1, 8, 8}, x});
      EXPECT_TRUE(std::isnan(y[0])) << place;
      EXPECT_EQ(y.back(), 1.0f) << place;
    }
  }
}

TEST_F(Pool, PaddingNeverWinsAMaximum) {
  const std::vector<float> x(9, -5.0f);
  for (float y : run(MaxPool2dLayer(Pool2dWindow::square(3, 1, 1)), "direct", {Shape{1, 1, 3, 3}, x})) {
    EXPECT_EQ(y, -5.0f);
  }
}

TEST_F(Pool, RefusesWhatIsNoWindow) {
  expect_error<DataError>([] { MaxPool2dLayer({0, 2, 1, 1, 0, 0}); }, "at least 1");
  expect_error<DataError>([] { AvgPool2dLayer({2, 2, 0, 1, 0, 0}); }, "at least 1");
  expect_error<DataError>([] { MaxPool2dLayer({2, 2, 1, 1, 0, 0, 0, 0, 0, 1}); }, "dilation 0x1");
  expect_error<DataError>(
      [] {
        MaxPool2dLayer({3, 3, 1, 1, 3, 0});
      },
      "a 3x3 window supports padding from 0 to 2x2, found 3x0");
  expect_error<DataError>([] { MaxPool2dLayer({3, 3, 1, 1, 1, 0, -2, 0}); }, "found 1x0 before and -1x0");
  expect_error<DataError>(
      [] {
        MaxPool2dLayer({3, 3, 1, 1, 5, 0, 0, 0, 2, 1});
      },
      "a 3x3 window with dilation 2x1 supports padding from 0 to 4x2, found 5x0");
  const MaxPool2dLayer spread({3, 3, 1, 1, 0, 0, 0, 0, 3, 3});
  expect_error<DataError>(
      [&] {
        spread.infer_shape({Shape{1, 1, 5, 5}});
      },
      "a 3x3 window with dilation 3 expected a padded input of at least 7x7, found 5x5");
  const MaxPool2dLayer wide({2, 1, 1, 1, 3, 0, 0, 0, 5, 1});
  expect_error<DataError>([&] { wide.infer_shape({Shape{1, 1, 1, 9}}); }, "a window that holds padding only");
  const MaxPool2dLayer layer(Pool2dWindow::square(5, 1));
  expect_error<DataError>([&] { layer.infer_shape({Shape{1, 1, 4, 9}}); }, "4x9");
  expect_error<DataError>([&] { layer.infer_shape({Shape{4, 9}}); }, "[N, C, H, W]");
  expect_error<DataError>([&] { layer.infer_shape({}); }, "one input");
}

TEST_F(Pool, CountsTheBytesThatItReads) {
  const Shape x{2, 3, 8, 6};
  const MaxPool2dLayer overlapping(Pool2dWindow::square(3, 2, 1));
  EXPECT_EQ(overlapping.work({x}).bytes, 4.0 * 2 * 3 * (8 * 6 + 4 * 3));
  EXPECT_EQ(overlapping.work({x}).unread, 0);
  const MaxPool2dLayer skipping(Pool2dWindow::square(1, 2));
  EXPECT_EQ(skipping.work({x}).bytes, 4.0 * 2 * 3 * (4 * 3 + 4 * 3));
  EXPECT_EQ(skipping.work({x}).unread, 2 * 3 * (8 * 6 - 4 * 3));
}

TEST_F(Pool, NamesTheBackendsThereAre) {
  const MaxPool2dLayer layer(Pool2dWindow::square(2, 2));
  OperatorRequest request = request_for(layer, {Shape{1, 1, 4, 4}, {}});
  EXPECT_EQ(layer.preferred(request), "direct");
  const Support support = layer.supports("winograd", request);
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason().find("direct"), std::string::npos) << support.reason();
  request.fused = {&layer};
  EXPECT_FALSE(layer.supports("direct", request));
}

}  // namespace
}  // namespace lenslet
