// Linear, beyond its subjects (subjects_test.cpp): every tile of a GPU, NaN, the order of values, preferences and
// refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "layers/activation/activation_layer.h"
#include "layers/linear/gpu/tiled_shape.h"
#include "layers/linear/linear_backend.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/fill.h"
#include "layers/reference/layer_subject.h"
#include "tests/conv/refusals.h"
#include "tests/layers/layer_fixture.h"
#include "tests/layers/layer_problems.h"
#include "tests/support/expect_error.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

using Linear = LayerTest;

/// Whether the device of this program has the tensor cores that the backend `tensor_core` needs.
bool has_tensor_cores() { return kDevice.is_cuda() && cuda_status().devices[0].compute_capability >= 80; }

TEST_F(Linear, HasEveryTileRight) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the GPU's kernels have tiles";
  std::set<std::string> tiles;
  for (const auto& [batch, inputs, outputs] : linear_tile_sizes(cuda_status().devices[0].multiprocessors)) {
    Stream stream(kDevice);
    const VerifyResult result =
        reference::linear_subject({batch, inputs}, outputs).verify("tiled", MathMode::kFp32, stream);
    EXPECT_TRUE(result.passed) << inputs << " -> " << outputs << ": " << result.reason;
    tiles.insert(result.detail);
  }
  for (const int lane_outputs : kLaneOutputs) {
    const std::string tile =
        concat("tile ", LinearTiledShape::kRows, "x", LinearTiledShape::kColumnLanes * lane_outputs);
    EXPECT_EQ(tiles.count(tile), 1u) << tile << " was never chosen";
  }
}

// The outputs of a lane of `tiled`.
TEST_F(Linear, ChoosesATileForTheBusiestMultiprocessor) {
  constexpr int kH200 = 132;
  // LeNet-5's layers have two tiles of 64, three of 32 and one of 16.
  EXPECT_EQ(choose_lane_outputs(10000, 120, kH200), 8);
  EXPECT_EQ(choose_lane_outputs(10000, 84, kH200), 4);
  EXPECT_EQ(choose_lane_outputs(10000, 10, kH200), 2);
  // Few samples need narrow tiles to occupy the GPU; a wave of tiles of 40 needs less time than two of 32.
  EXPECT_EQ(choose_lane_outputs(1000, 120, kH200), 2);
  EXPECT_EQ(choose_lane_outputs(80 * kH200, 40, kH200), 5);
  // A grid has at most 65,535 tiles of columns.
  EXPECT_EQ(choose_lane_outputs(1, int64_t{GpuLimits::kGridYZ} * 64, kH200), 8);
}

class LinearInMode : public DeviceTest<testing::TestWithParam<MathMode>> {};

TEST_P(LinearInMode, HasEveryTileOfTensorCoresRight) {
  if (!has_tensor_cores()) GTEST_SKIP() << "it needs a GPU of compute capability 8.0";
  std::set<std::string> columns;
  for (const auto& [batch, inputs, outputs] : linear_tensor_core_sizes()) {
    Stream stream(kDevice);
    const VerifyResult result =
        reference::linear_subject({batch, inputs}, outputs).verify("tensor_core", GetParam(), stream);
    EXPECT_TRUE(result.passed) << batch << " x " << inputs << " -> " << outputs << ": " << result.reason;
    columns.insert(result.detail.substr(result.detail.find('x') + 1));
  }
  EXPECT_EQ(columns, (std::set<std::string>{"16", "32", "64", "96", "128"}));
}

INSTANTIATE_TEST_SUITE_P(Modes, LinearInMode, testing::Values(MathMode::kTf32, MathMode::kFp16),
                         [](const auto& test) { return to_string(test.param); });

// Several warps share more chunks of weights than are in flight, in a product so small that racecheck ends in seconds:
// it detects a missing wait or barrier here.
TEST_F(Linear, SharesChunksOfTensorCoresAmongWarps) {
  if (!has_tensor_cores()) GTEST_SKIP() << "it needs a GPU of compute capability 8.0";
  for (const MathMode math : {MathMode::kTf32, MathMode::kFp16}) {
    Stream stream(kDevice);
    const VerifyResult result = reference::linear_subject({40, 300}, 120).verify("tensor_core", math, stream);
    EXPECT_TRUE(result.passed) << to_string(math) << ": " << result.reason;
  }
}

TEST_F(Linear, KeepsANanThroughReluAndInItsOwnSample) {
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(kDevice.kind)) {
    const LinearLayer layer(Tensor({6, 4}, std::vector<float>(24, 1.0f)), Tensor());
    std::vector<float> x(12, 1.0f);
    x[5] = NAN;
    if (backend == "cublas" && !kHasCublas) continue;
    for (const MathMode math : kMathModes) {
      const LayerRun setting{{3, 4}, x, math, true};
      if (!layer.supports(backend, request_for(layer, setting))) continue;
      const std::vector<float> y = run(layer, backend, setting);
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(std::isnan(y[i]), i / 6 == 1) << backend << " " << to_string(math) << " " << i;
      }
    }
  }
}

// A kernel that copies inputs in whole quads or steps has places past the last input. There a weight is zero, but the
// product of zero and what shared memory held before may be NaN.
TEST_F(Linear, ReadsNothingThatAnEarlierRunLeft) {
  constexpr int64_t kOutputs = 20, kSamples = 2048;
  for (const std::string& backend : LinearLayer(Tensor({1, 1}), Tensor()).backends(kDevice.kind)) {
    if (backend == "cublas" && !kHasCublas) continue;
    for (const MathMode math : kMathModes) {
      for (const int64_t inputs : {256, 12, 256, 7}) {  // a run of 256 leaves NaN before each other
        const LinearLayer layer(
            Tensor({kOutputs, inputs}, std::vector<float>(static_cast<size_t>(kOutputs * inputs), 1.0f)),
            Tensor());
        const float value = inputs == 256 ? NAN : 1.0f;
        const LayerRun setting{{kSamples, inputs},
                               std::vector<float>(static_cast<size_t>(kSamples * inputs), value),
                               math,
                               false};
        if (!layer.supports(backend, request_for(layer, setting))) continue;
        const std::vector<float> y = run(layer, backend, setting);
        if (inputs == 256) continue;
        const auto wrong =
            std::count_if(y.begin(), y.end(), [&](float sum) { return sum != static_cast<float>(inputs); });
        EXPECT_EQ(wrong, 0) << backend << " " << to_string(math) << " " << inputs;
      }
    }
  }
}

TEST_F(Linear, FlattensInStorageOrder) {
  // Each output selects one input value, so that a wrong order shows as a wrong index.
  const int64_t inputs = 2 * 3 * 5;
  std::vector<float> w(static_cast<size_t>(inputs * inputs), 0.0f);
  for (size_t o = 0; o < static_cast<size_t>(inputs); ++o) w[o * static_cast<size_t>(inputs) + o] = 1.0f;
  const LinearLayer layer(Tensor({inputs, inputs}, w), Tensor());
  const auto x = reference::distinct_integers(static_cast<size_t>(2 * inputs), 3);
  const std::string backend = layer.preferred(request_for(layer, {{2, 2, 3, 5}, x}));
  EXPECT_EQ(run(layer, backend, {{2, 2, 3, 5}, x}), x);
}

TEST_F(Linear, MultipliesEachRow) {
  const LinearLayer layer(Tensor({2, 3}, {1, 0, 0, 0, 0, 1}), Tensor({2}, {10, 20}), LinearVectors::kRows);
  const Shape input{2, 2, 3};
  EXPECT_EQ(layer.infer_shape({input}), (Shape{2, 2, 2}));
  EXPECT_EQ(layer.as_vectors(input), (Shape{4, 3}));
  EXPECT_EQ(layer.work({input}).flops, 2.0 * 4 * 2 * 3);
  const std::string backend = layer.preferred(request_for(layer, {input, {}}));
  EXPECT_EQ(run(layer, backend, {input, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}),
            (std::vector<float>{10, 22, 13, 25, 16, 28, 19, 31}));
  expect_error<DataError>([&] { layer.infer_shape({Shape{2, 3, 2}}); }, "3 values per row");
  expect_error<DataError>([&] { layer.infer_shape({Shape{3}}); }, "3 values per row");
}

TEST_F(Linear, PrefersByTheBatch) {
  const LinearLayer layer(Tensor({120, 256}), Tensor({120}));
  const auto preferred = [&](int64_t batch) {
    return layer.preferred(request_for(layer, {Shape{batch, 256}, {}}));
  };
  if (kDevice.is_cuda()) {
    EXPECT_EQ(preferred(1), "warp_reduce");
    EXPECT_EQ(preferred(10000), "tiled");
    if (!has_tensor_cores()) return;
    for (const MathMode math : {MathMode::kTf32, MathMode::kFp16}) {
      OperatorRequest request = request_for(layer, {Shape{10000, 256}, {}, math});
      EXPECT_EQ(layer.preferred(request), "tensor_core");
      const LinearLayer large(Tensor({1000, 2048}), Tensor());
      request = request_for(large, {Shape{64, 2048}, {}, math});
      EXPECT_EQ(large.preferred(request), math == MathMode::kTf32 && kHasCublas ? "cublas" : "tensor_core");
    }
  } else {
    EXPECT_EQ(preferred(1), "direct");
    EXPECT_EQ(preferred(10000), "direct");
  }
}

TEST_F(Linear, RefusesWithAReason) {
  expect_error<DataError>([] { LinearLayer(Tensor({2, 3, 4}), Tensor()); }, "[outputs, inputs]");
  expect_error<DataError>([] { LinearLayer(Tensor({2, 3}), Tensor({3})); }, "bias of 2 values");
  const LinearLayer layer(Tensor({2, 3}), Tensor({2}));
  expect_error<DataError>([&] { layer.infer_shape({Shape{1, 4}}); }, "3 values per sample");
  expect_error<DataError>([&] { layer.infer_shape({Shape{3}}); }, "3 values per sample");
  OperatorRequest request = request_for(layer, {Shape{1, 3}, {}});
  EXPECT_NE(layer.supports("nonesuch", request).reason().find("there are"), std::string::npos);
  Stream stream(kDevice);
  expect_error<UnavailableError>([&] { layer.prepare("nonesuch", request, stream); }, "there are");
  const LinearBackend& direct = linear_table().find(DeviceKind::kCpu, "direct").open();
  Stream host(Device::cpu());
  const float weight = 1;
  expect_error<UnavailableError>(
      [&] {
        direct.prepare({1, 1, 1, &weight, nullptr, false, MathMode::kFp16}, host);
      },
      "fp32");
  request.math = MathMode::kFp16;
  bool any_supports = false;
  for (const std::string& backend : layer.backends(kDevice.kind)) {
    const Support support = layer.supports(backend, request);
    EXPECT_EQ(support.reason().empty(), static_cast<bool>(support)) << backend;
    any_supports = any_supports || support;
  }
  EXPECT_EQ(any_supports, has_tensor_cores());
  EXPECT_EQ(layer.preferred(request).empty(), !any_supports);
}

TEST_F(Linear, RefusesWithARemedy) {
  const LinearLayer layer(Tensor({2, 3}), Tensor({2}));
  const MaxPool2dLayer pool(Pool2dWindow::square(2, 2));
  const ActivationLayer tanh(Activation::kTanh), leaky(Activation::kLeakyRelu, 0.1f);
  for (const std::string& backend : layer.backends(kDevice.kind)) {
    if (backend == "cublas" && !kHasCublas) continue;
    const auto expect_remedy = [&](const OperatorRequest& request) {
      const Support support = layer.supports(backend, request);
      if (!support) {
        EXPECT_EQ(lacks(support.reason()), "") << backend;
      }
      return static_cast<bool>(support);
    };
    OperatorRequest request = request_for(layer, {Shape{1, 3}, {}});
    for (const MathMode math : kMathModes) {
      request.math = math;
      expect_remedy(request);
    }
    request.math = MathMode::kFp32;
    for (const Layer* const fused : std::initializer_list<const Layer*>{&pool, &tanh, &leaky}) {
      request.fused = {fused};
      EXPECT_FALSE(expect_remedy(request)) << backend << " " << fused->describe();
    }
    EXPECT_FALSE(expect_remedy(request_for(layer, {Shape{int64_t{1} << 31, 3}, {}}))) << backend;
  }
  // Too many outputs for a kernel's grid.
  LinearProblem wide;
  wide.batch = wide.inputs = 1;
  wide.outputs = int64_t{1} << 40;
  int refusals = 0;
  for (const auto& entry : linear_table().entries(kDevice.kind)) {
    if (entry.name() == "cublas" && !kHasCublas) continue;
    for (const MathMode math : kMathModes) {
      wide.math = math;
      const Support support = entry.supports(wide);
      if (support) continue;
      EXPECT_EQ(lacks(support.reason()), "") << entry.name();
      refusals += support.reason().find("outputs, found 1099511627776") != std::string::npos;
    }
  }
  EXPECT_GT(refusals, 0);
}

// Tensors of fp16 between layers: only tensor cores in fp16 take them, and read whole quads.
TEST_F(Linear, RefusesFp16TensorsWithAReason) {
  for (const int64_t inputs : {4, 6}) {
    const LinearLayer layer(Tensor({2, inputs}), Tensor({2}));
    for (const MathMode math : kMathModes) {
      for (const std::string& backend : layer.backends(kDevice.kind)) {
        OperatorRequest request = request_for(layer, {Shape{1, inputs}, {}, math});
        if (!layer.supports(backend, request)) continue;
        request.input_type = ElementType::kFp16;
        const Support support = layer.supports(backend, request);
        const bool takes = backend == "tensor_core" && math == MathMode::kFp16;
        EXPECT_EQ(static_cast<bool>(support), takes && inputs == 4) << backend << " " << to_string(math);
        const char* const reason = takes ? "in multiples of 4 inputs, found 6: leave them fp32"
                                         : "reads and writes fp32, not fp16 in and fp32 out: ";
        if (!support) {
          EXPECT_NE(support.reason().find(reason), std::string::npos) << support.reason();
        }
        request.input_type = ElementType::kBf16;
        EXPECT_FALSE(layer.supports(backend, request)) << backend;
      }
    }
  }
}

}  // namespace
}  // namespace lenslet
