// Linear against the fp64 judge: every backend of the device, sizes at and off the tiles, bias and ReLU fused or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "framework/parallel.h"
#include "layers/linear/linear_layer.h"
#include "tests/layers/layer_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

Tensor host_tensor(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(shape);
  std::memcpy(tensor.data(), values.data(), shape.bytes());
  return tensor;
}

struct Case {
  Shape input;
  int64_t outputs;
};

class Linear : public LayerTest {
 protected:
  struct Data {
    std::vector<float> x, w, b;
  };

  static Data integers(const Case& c, uint64_t seed) { return fill(c, seed, reference::small_integers); }
  static Data random(const Case& c, uint64_t seed) { return fill(c, seed, reference::uniform_values); }

  void check(const std::string& backend, const Case& c, const Data& data, bool exact, bool bias, bool relu,
             MathMode math = MathMode::kFp32, int64_t shift = 0) {
    const int64_t inputs = c.input.num_elements() / c.input[0];
    const LinearLayer layer(host_tensor({c.outputs, inputs}, data.w),
                            bias ? host_tensor({c.outputs}, data.b) : Tensor());
    const std::string what = concat(backend, " ", to_string(math), " ", c.input.to_string(), " -> ",
                                    c.outputs, bias ? " bias" : "", relu ? " relu" : "");
    const LayerRun setting{c.input, data.x, math, relu, shift};
    const Support support = layer.supports(backend, request_for(layer, setting));
    if (!support) {
      EXPECT_TRUE(backend == "cublas" && !kHasCublas) << what << ": " << support.reason();
      return;
    }
    reference::Result expected =
        reference::linear(c.input, data.x.data(), c.outputs, data.w.data(), bias ? data.b.data() : nullptr);
    if (relu) {
      for (double& value : expected.values) value = std::max(value, 0.0);
    }
    // fp32: at most `terms` roundings on the way of each product. tf32: both operands rounded, by truncation at worst.
    const double terms = static_cast<double>(inputs) + 1;
    const double unit = math == MathMode::kFp32 ? 1.01 * 0x1p-24 * terms : 1.01 * (0x1p-9 + 0x1p-24 * terms);
    expect_close(run(layer, backend, setting), expected, what,
                 [&](size_t i) { return exact ? 0.0 : unit * expected.magnitudes[i]; });
    ++checked_;
  }

  int checked_ = 0;

 private:
  template <typename Fill>
  static Data fill(const Case& c, uint64_t seed, Fill values) {
    const auto inputs = static_cast<size_t>(c.input.num_elements() / c.input[0]);
    const auto outputs = static_cast<size_t>(c.outputs);
    return {values(static_cast<size_t>(c.input.num_elements()), seed), values(inputs * outputs, seed + 1),
            values(outputs, seed + 2)};
  }
};

const Case kCases[] = {{{1, 16, 4, 4}, 120},  {{1, 120}, 84},  {{1, 84}, 10},   {{3, 256}, 120},
                       {{64, 16, 4, 4}, 120}, {{33, 120}, 84}, {{257, 84}, 10}, {{1, 1}, 1},
                       {{2, 3}, 5},           {{7, 31}, 17},   {{5, 33}, 127},  {{20, 16}, 32},
                       {{21, 17}, 33},        {{79, 130}, 65}, {{81, 100}, 97}, {{1, 1000}, 3},
                       {{1, 2, 3, 5}, 129},   {{4, 4096}, 4}};

TEST_F(Linear, IsExactOnIntegers) {
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(device_.kind)) {
    uint64_t seed = 1;
    for (const Case& c : kCases) {
      for (int variant = 0; variant < 4; ++variant) {
        check(backend, c, integers(c, seed += 3), true, (variant & 1) != 0, (variant & 2) != 0);
      }
    }
  }
  EXPECT_GT(checked_, 0);
}

TEST_F(Linear, StaysWithinTheBoundOnRandomValues) {
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(device_.kind)) {
    uint64_t seed = 1000;
    for (const Case& c : kCases) check(backend, c, random(c, seed += 3), false, true, false);
    check(backend, {{2001, 256}, 120}, random({{2001, 256}, 120}, 2), false, true, true);
    check(backend, {{10000, 84}, 10}, random({{10000, 84}, 10}, 3), false, true, false);
  }
}

// Several tiles each way and a tail each way, for every tile there is; quads of inputs, and none.
TEST_F(Linear, HasEveryTileRight) {
  if (!device_.is_cuda()) GTEST_SKIP() << "the GPU's kernels have tiles";
  // The taller the tile the more samples it takes to be chosen, by the number of multiprocessors.
  const int64_t many = cuda_status().devices[0].multiprocessors;
  std::set<std::string> tiles;
  uint64_t seed = 2000;
  for (const int64_t outputs : {31, 61, 93, 127, 150, 319, 190, 251}) {
    for (const int64_t batch : {int64_t{41}, 25 * many + 3, 75 * many + 7}) {
      for (const int64_t inputs : {36, 35}) {
        const Case c{{batch, inputs}, outputs};
        const LinearLayer layer(Tensor({outputs, inputs}), Tensor());
        Stream stream(device_);
        tiles.insert(layer.prepare("tiled", request_for(layer, {c.input, {}}), stream)->detail());
        check("tiled", c, integers(c, seed += 3), true, true, false);
      }
    }
  }
  for (const char* rows : {"20", "40", "80"}) {
    for (const char* columns : {"32", "64", "96", "128"}) {
      EXPECT_EQ(tiles.count(concat("tile ", rows, "x", columns)), 1u)
          << rows << "x" << columns << " was never chosen";
    }
  }
}

TEST_F(Linear, TakesInputsAtAnyAddress) {
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(device_.kind)) {
    for (const Case& c : {Case{{1, 84}, 10}, Case{{5, 256}, 120}, Case{{33, 120}, 84}}) {
      for (const int64_t shift : {1, 2, 3})
        check(backend, c, integers(c, 40), true, true, true, MathMode::kFp32, shift);
    }
  }
}

TEST_F(Linear, TensorCoresStayWithinTheirBound) {
  if (!device_.is_cuda()) GTEST_SKIP() << "the CPU computes in fp32 only";
  for (const Case& c : {Case{{64, 256}, 120}, Case{{1, 84}, 10}}) {
    check("cublas", c, random(c, 5), false, true, true, MathMode::kTf32);
    check("cublas", c, integers(c, 6), true, true, false, MathMode::kTf32);
  }
  if (kHasCublas) {
    EXPECT_EQ(checked_, 4);
  }
}

TEST_F(Linear, SharesTheWorkOutAmongThreads) {
  const int before = num_threads();
  set_num_threads(3);
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(device_.kind)) {
    check(backend, {{500, 300}, 200}, integers({{500, 300}, 200}, 9), true, true, true);
    check(backend, {{1, 3000}, 1500}, integers({{1, 3000}, 1500}, 10), true, true, false);
  }
  set_num_threads(before);
}

TEST_F(Linear, KeepsANanThroughReluAndInItsOwnSample) {
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(device_.kind)) {
    const LinearLayer layer(host_tensor({6, 4}, std::vector<float>(24, 1.0f)), Tensor());
    std::vector<float> x(12, 1.0f);
    x[5] = NAN;
    const LayerRun setting{{3, 4}, x, MathMode::kFp32, true};
    if (backend == "cublas" && !kHasCublas) continue;
    const std::vector<float> y = run(layer, backend, setting);
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(std::isnan(y[i]), i / 6 == 1) << backend << " " << i;
    }
  }
}

TEST_F(Linear, FlattensInStorageOrder) {
  // Each output picks one input value out, so that a wrong order shows as a wrong index.
  const int64_t inputs = 2 * 3 * 5;
  std::vector<float> w(static_cast<size_t>(inputs * inputs), 0.0f);
  for (size_t o = 0; o < static_cast<size_t>(inputs); ++o) w[o * static_cast<size_t>(inputs) + o] = 1.0f;
  const LinearLayer layer(host_tensor({inputs, inputs}, w), Tensor());
  const auto x = reference::distinct_integers(static_cast<size_t>(2 * inputs), 3);
  const std::string backend = layer.preferred(request_for(layer, {{2, 2, 3, 5}, x}));
  EXPECT_EQ(run(layer, backend, {{2, 2, 3, 5}, x}), x);
}

TEST_F(Linear, SeesPlantedFaults) {
  const Case small{{5, 33}, 127};
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(device_.kind)) {
    if (backend == "cublas" && !kHasCublas) continue;
    expect_faults_seen_by([&] { check(backend, small, random(small, 31), false, true, true); });
    expect_faults_seen_by([&] { check(backend, small, integers(small, 34), true, false, false); });
  }
}

TEST_F(Linear, PrefersByTheBatch) {
  const LinearLayer layer(Tensor({120, 256}), Tensor({120}));
  const auto preferred = [&](int64_t batch) {
    return layer.preferred(request_for(layer, {Shape{batch, 256}, {}}));
  };
  if (device_.is_cuda()) {
    EXPECT_EQ(preferred(1), "warp_reduce");
    EXPECT_EQ(preferred(10000), "tiled");
  } else {
    EXPECT_EQ(preferred(1), "direct");
    EXPECT_EQ(preferred(10000), "direct");
  }
}

TEST_F(Linear, RefusesWithAReason) {
  expect_error<DataError>([] { LinearLayer(Tensor({2, 3, 4}), Tensor()); }, "[outputs, inputs]");
  expect_error<DataError>([] { LinearLayer(Tensor({2, 3}), Tensor({3})); }, "bias of 2 values");
  const LinearLayer layer(Tensor({2, 3}), Tensor({2}));
  expect_error<DataError>([&] { layer.infer_shape({Shape{1, 4}}); }, "3 values a sample");
  expect_error<DataError>([&] { layer.infer_shape({Shape{3}}); }, "3 values a sample");
  OperatorRequest request = request_for(layer, {Shape{1, 3}, {}});
  EXPECT_NE(layer.supports("nonesuch", request).reason().find("there are"), std::string::npos);
  Stream stream(device_);
  expect_error<UnavailableError>([&] { layer.prepare("nonesuch", request, stream); }, "there are");
  request.math = MathMode::kFp16;
  for (const std::string& backend : layer.backends(device_.kind)) {
    const Support support = layer.supports(backend, request);
    EXPECT_FALSE(support) << backend;
    EXPECT_NE(support.reason(), "") << backend;
  }
  EXPECT_EQ(layer.preferred(request), "");
}

}  // namespace
}  // namespace lenslet
