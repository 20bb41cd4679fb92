// Pooling against the fp64 judge: every window that PyTorch accepts, at odd sizes, on the device of this program.
#include <gtest/gtest.h>

#include <cmath>

#include "framework/parallel.h"
#include "layers/pool/pool_layer.h"
#include "tests/layers/layer_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

class Pool : public LayerTest {
 protected:
  static LayerRun with(const Shape& input, const std::vector<float>& x, int64_t shift) {
    LayerRun run{input, x};
    run.shift = shift;
    return run;
  }
  void check(const Shape& input, const Pool2dWindow& window, uint64_t seed, int64_t shift = 0) {
    const auto count = static_cast<size_t>(input.num_elements());
    const reference::PoolWindow judged{window.kernel_h, window.kernel_w, window.stride_h,
                                       window.stride_w, window.pad_h,    window.pad_w};
    const double terms = double{static_cast<double>(window.kernel_h)} * window.kernel_w;
    for (const auto& x :
         {reference::uniform_values(count, seed), reference::small_integers(count, seed + 1)}) {
      const std::string what = MaxPool2dLayer(window).describe() + " of " + input.to_string();
      const reference::Result maximum = reference::max_pool2d(input, x.data(), judged);
      expect_close(run(MaxPool2dLayer(window), "direct", with(input, x, shift)), maximum, "max " + what,
                   [](size_t) { return 0.0; });
      for (bool padding : {true, false}) {
        const reference::Result mean = reference::avg_pool2d(input, x.data(), judged, padding);
        expect_close(run(AvgPool2dLayer(window, padding), "direct", with(input, x, shift)), mean,
                     "mean " + what,
                     [&](size_t i) { return 1.01 * 0x1p-24 * (terms + 1) * mean.magnitudes[i]; });
      }
    }
  }
};

TEST_F(Pool, AgreesWithFp64OnEveryKindOfWindow) {
  const Pool2dWindow windows[] = {Pool2dWindow::square(2, 2),
                                  Pool2dWindow::square(2, 1),
                                  Pool2dWindow::square(3, 2, 1),
                                  Pool2dWindow::square(1, 1),
                                  Pool2dWindow::square(1, 3),
                                  Pool2dWindow::square(3, 3),
                                  Pool2dWindow::square(5, 2, 2),
                                  {2, 3, 2, 1, 1, 0},
                                  {3, 2, 1, 2, 0, 1},
                                  {4, 1, 3, 2, 2, 0},
                                  {2, 2, 2, 2, 1, 1},
                                  {2, 2, 2, 2, 0, 1}};
  const Shape inputs[] = {{1, 1, 5, 5},  {1, 6, 24, 24}, {3, 16, 8, 8},
                          {2, 3, 7, 13}, {1, 2, 31, 17}, {5, 1, 6, 66}};
  uint64_t seed = 1;
  for (const Pool2dWindow& window : windows) {
    for (const Shape& input : inputs) check(input, window, seed += 2);
  }
}

// The 2x2 kernel reads two rows of whole quads at once: the last row of an odd plane belongs to no window.
TEST_F(Pool, LeavesTheLastRowOfAnOddPlaneOut) {
  uint64_t seed = 401;
  for (const Shape& input :
       {Shape{2, 3, 7, 12}, Shape{1, 2, 3, 4}, Shape{3, 5, 31, 8}, Shape{7, 16, 41, 44}}) {
    check(input, Pool2dWindow::square(2, 2), seed += 2);
  }
}

TEST_F(Pool, TakesInputsAtAnyAddress) {
  uint64_t seed = 501;
  for (const int64_t shift : {1, 2, 3}) {
    check({2, 3, 8, 12}, Pool2dWindow::square(2, 2), seed += 2, shift);
    check({2, 3, 7, 13}, Pool2dWindow::square(3, 2, 1), seed += 2, shift);
  }
}

TEST_F(Pool, TakesTheWholeInputAsOneWindow) {
  check({2, 3, 7, 9}, {7, 9, 7, 9, 0, 0}, 101);
  check({1, 1, 1, 1}, Pool2dWindow::square(1, 1), 102);
}

TEST_F(Pool, SharesTheWorkOutAmongThreads) {
  const int before = num_threads();
  set_num_threads(3);
  check({7, 16, 40, 44}, Pool2dWindow::square(2, 2), 201);
  check({7, 16, 40, 44}, Pool2dWindow::square(3, 2, 1), 202);
  set_num_threads(before);
}

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

TEST_F(Pool, SeesPlantedFaults) {
  expect_faults_seen_by([&] { check({2, 3, 7, 13}, Pool2dWindow::square(2, 2), 301); });
  expect_faults_seen_by([&] { check({2, 3, 7, 13}, Pool2dWindow::square(3, 2, 1), 302); });
}

TEST_F(Pool, RefusesWhatIsNoWindow) {
  expect_error<DataError>([] { MaxPool2dLayer({0, 2, 1, 1, 0, 0}); }, "at least 1");
  expect_error<DataError>([] { AvgPool2dLayer({2, 2, 0, 1, 0, 0}); }, "at least 1");
  expect_error<DataError>([] { MaxPool2dLayer({3, 3, 1, 1, 2, 0}); }, "half the kernel");
  const MaxPool2dLayer layer(Pool2dWindow::square(5, 1));
  expect_error<DataError>([&] { layer.infer_shape({Shape{1, 1, 4, 9}}); }, "4x9");
  expect_error<DataError>([&] { layer.infer_shape({Shape{4, 9}}); }, "[N, C, H, W]");
  expect_error<DataError>([&] { layer.infer_shape({}); }, "one input");
}

TEST_F(Pool, NamesTheBackendsThereAre) {
  const MaxPool2dLayer layer(Pool2dWindow::square(2, 2));
  OperatorRequest request = request_for(layer, {Shape{1, 1, 4, 4}, {}});
  EXPECT_EQ(layer.preferred(request), "direct");
  const Support support = layer.supports("winograd", request);
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason().find("direct"), std::string::npos) << support.reason();
  request.fuse_relu = true;
  EXPECT_FALSE(layer.supports("direct", request));
}

}  // namespace
}  // namespace lenslet
