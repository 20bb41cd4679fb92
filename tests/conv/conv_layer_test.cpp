// Conv2dLayer: shapes, refusals, and a prepared operator against the reference.
#include "layers/conv/conv_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/base/parallel.h"
#include "framework/device/other_device.h"
#include "framework/gpu_side.h"
#include "framework/graph/within_math.h"
#include "layers/conv/conv_registry.h"
#include "layers/fusion/fusion.h"
#include "layers/reference/fill.h"
#include "layers/reference/reference.h"
#include "layers/relu/relu_layer.h"
#include "tests/support/expect_error.h"
#include "tests/support/host_values.h"
#include "tests/support/in_child.h"

namespace lenslet {
namespace {

Tensor tensor_of(const Shape& shape, uint64_t seed) {
  return Tensor(shape, reference::small_integers(static_cast<size_t>(shape.num_elements()), seed));
}

Conv2dLayer make_layer(const char* problem, bool bias = true) {
  const Conv2dProblem geometry = Conv2dProblem::parse(problem);
  return {geometry, tensor_of(geometry.weight_shape(), 1), bias ? tensor_of({geometry.k}, 2) : Tensor()};
}

OperatorRequest request_for(const Conv2dLayer& layer, const Shape& input) {
  return request_for(layer, {input}, Device::cpu(), MathMode::kFp32);
}

TEST(Conv2dLayer, InfersShapesAndWork) {
  const Conv2dLayer layer = make_layer("ic1ih28oc6kh5");
  EXPECT_EQ(layer.infer_shape({{64, 1, 28, 28}}), (Shape{64, 6, 24, 24}));
  EXPECT_EQ(layer.infer_shape({{3, 1, 14, 20}}), (Shape{3, 6, 10, 16}));
  EXPECT_EQ(layer.work({{10, 1, 28, 28}}).flops, 2.0 * 864000);
  EXPECT_EQ(layer.describe(), "6@5x5 stride 1 pad 0");
  EXPECT_EQ(make_layer("g2ic4ih28oc6kh3sh2sw1ph1dh1").describe(),
            "6@3x3 stride 2x1 pad 1 dilation 2 groups 2");
}

// The type of the input changes the bytes of the values that windows read, and of no others.
TEST(Conv2dLayer, CountsTheBytesThatItReads) {
  const Conv2dLayer layer = make_layer("ic2ih8oc6kh1sh2");
  const Shape input{3, 2, 8, 8};
  OperatorRequest request = request_for(layer, input);
  const double read = 3 * 2 * 4 * 4, others = 4.0 * (6 * 2 + 6 + 3 * 6 * 4 * 4);
  EXPECT_EQ(layer.work({input}).bytes, 4 * read + others);
  EXPECT_EQ(layer.work({input}).unread, 3 * 2 * 8 * 8 - read);
  EXPECT_EQ(layer.work_of(request).bytes, 4 * read + others);
  request.input_type = ElementType::kFp16;
  EXPECT_EQ(layer.work_of(request).bytes, 2 * read + others);
}

// Tensors of fp16 between layers need tensor cores.
TEST(Conv2dLayer, RefusesFp16TensorsOnTheCpuWithAReason) {
  const Conv2dLayer layer = make_layer("ic1ih28oc6kh5");
  OperatorRequest request = request_for(layer, {2, 1, 28, 28});
  for (const auto& [input, output] : {std::pair{ElementType::kFp16, ElementType::kFp32},
                                      std::pair{ElementType::kFp32, ElementType::kFp16}}) {
    for (const std::string& backend : layer.backends(DeviceKind::kCpu)) {
      request.input_type = request.output_type = ElementType::kFp32;
      if (!layer.supports(backend, request)) continue;
      request.input_type = input;
      request.output_type = output;
      EXPECT_EQ(layer.supports(backend, request).reason(),
                concat("backend ", backend, ": reads and writes fp32, not ", input.name(), " in and ",
                       output.name(), " out: leave them fp32"));
      Stream stream(Device::cpu());
      expect_error<UnavailableError>([&] { layer.prepare(backend, request, stream); }, "leave them fp32");
    }
  }
}

TEST(Conv2dLayer, RefusesShapesThatDoNotFit) {
  const Conv2dLayer layer = make_layer("ic1ih28oc6kh5");
  EXPECT_THROW(layer.infer_shape({{64, 3, 28, 28}}), DataError);
  EXPECT_THROW(layer.infer_shape({{64, 28, 28}}), DataError);
  EXPECT_THROW(layer.infer_shape({{1, 1, 4, 28}}), DataError);
  EXPECT_THROW(layer.infer_shape({{0, 1, 28, 28}}), DataError);
  EXPECT_THROW(layer.infer_shape({}), DataError);
  EXPECT_THROW(layer.infer_shape({{int64_t{1} << 31, 1, 28, 28}}), DataError);
  const Conv2dProblem geometry = Conv2dProblem::parse("ic1ih28oc6kh5");
  EXPECT_THROW(Conv2dLayer(geometry, Tensor({6, 1, 5, 4}), Tensor()), DataError);
  EXPECT_THROW(Conv2dLayer(geometry, Tensor({6, 1, 5, 5}), Tensor({5})), DataError);
}

TEST(Conv2dLayer, RefusesABackendWithAReason) {
  const Conv2dLayer layer = make_layer("ic1ih28oc6kh5");
  OperatorRequest request = request_for(layer, {1, 1, 28, 28});
  EXPECT_NE(layer.supports("nonesuch", request).reason().find("direct"), std::string::npos);
  Stream stream(Device::cpu());
  EXPECT_THROW(layer.prepare("nonesuch", request, stream), UnavailableError);
  request.math = MathMode::kFp16;
  EXPECT_NE(layer.supports("direct", request).reason().find("fp16"), std::string::npos);
  request.math = MathMode::kFp32;
  request.workspace_limit = 1;
  const Support support = layer.supports("im2col_gemm", request);
  EXPECT_NE(support.reason().find("limit is 1"), std::string::npos);
  EXPECT_EQ(support.code(), ExitCode::kMemory);
  EXPECT_THROW(layer.prepare("im2col_gemm", request, stream), MemoryError);
}

TEST(Conv2dLayer, ReplaysAChoiceOrRefusesIt) {
  const Conv2dLayer layer = make_layer("ic6ih12oc16kh5");
  OperatorRequest request = request_for(layer, {2, 6, 12, 12});
  Stream stream(Device::cpu());
  for (const std::string& backend : layer.backends(DeviceKind::kCpu)) {
    request.choice = "";
    if (!layer.supports(backend, request)) continue;
    request.choice = layer.prepare(backend, request, stream)->choice();
    EXPECT_EQ(layer.prepare(backend, request, stream)->choice(), request.choice);
    request.choice = "BOGUS";
    expect_error<UnavailableError>([&] { layer.prepare(backend, request, stream); }, "BOGUS");
  }
}

// Offsets exceed 32 bits although every tensor is small: refused before they are used.
TEST(ConvRegistry, OffsetsThatOverflowAreRefused) {
  const std::vector<ConvBackendEntry>& rows = conv_backend_entries(DeviceKind::kCuda);
  const auto row = std::find_if(rows.begin(), rows.end(), [](const ConvBackendEntry& entry) {
    return entry.name() == "implicit_gemm";
  });
  ASSERT_NE(row, rows.end());
  if (row->kind() == ConvBackendEntry::Kind::kNotBuilt) GTEST_SKIP() << "this build has no GPU side";
  Conv2dProblem problem = Conv2dProblem::parse("ic1ih2iw40000oc1kh2kw1ph60000pw0dh59999dw0sh60001sw1");
  const Support support = row->supports(problem, MathMode::kFp32);
  EXPECT_FALSE(support);
  EXPECT_NE(support.reason().find("implicit_gemm counts"), std::string::npos) << support.reason();
  problem.pad_h = 600;
  problem.dilation_h = 600;
  problem.stride_h = 601;
  EXPECT_TRUE(row->supports(problem, MathMode::kFp32)) << row->supports(problem, MathMode::kFp32).reason();
}

TEST(Conv2dLayer, EveryBackendComputes) {
  const Conv2dProblem problem = Conv2dProblem::parse("g2mb3ic4ih13iw11oc6kh3sh2ph1");
  const Conv2dLayer layer = make_layer("g2ic4ih13iw11oc6kh3sh2ph1");
  const Tensor x = tensor_of(problem.input_shape(), 3);
  for (const std::string& backend : layer.backends(DeviceKind::kCpu)) {
    for (bool relu : {false, true}) {
      OperatorRequest request = request_for(layer, problem.input_shape());
      const ReluLayer next;
      if (relu) request.fused = {&next};
      if (const Support support = layer.supports(backend, request); !support) {
        EXPECT_NE(support.reason(), "");
        continue;
      }
      Stream stream(Device::cpu());
      const auto op = layer.prepare(backend, request, stream);
      const Buffer workspace(Device::cpu(), op->workspace_bytes());
      Tensor y(request.output);
      RunContext context{stream, workspace.data(), nullptr};
      op->run({x.view()}, y.view(), context);
      const reference::Result expected =
          reference::conv2d(problem, x.data(), layer.weights().data(), layer.bias().data(), relu);
      ASSERT_EQ(expected.shape, y.shape());
      for (size_t i = 0; i < expected.values.size(); ++i) {
        ASSERT_EQ(y.data()[i], expected.values[i]) << backend << " at " << i;
      }
    }
  }
}

// ReLU, ReLU6 and LeakyReLU are fused; any other function, a negative slope or a second one is refused by name.
TEST(Conv2dLayer, FusesRectifiers) {
  using A = Activation;
  static const ReluLayer kRelu;
  static const ActivationLayer kRelu6(A::kClip, 0, 6), kLeaky(A::kLeakyRelu, 0.1f),
      kFalling(A::kLeakyRelu, -0.1f), kFromOne(A::kClip, 1, 6), kSteep(A::kLeakyRelu, 3), kTanh(A::kTanh);
  const auto fusion_of = [](const std::vector<const Layer*>& layers) { return read_fusion(layers); };
  const auto expect_fused = [&](const std::vector<const Layer*>& layers, float slope, float ceiling) {
    const Fusion fusion = fusion_of(layers);
    ASSERT_TRUE(fusion.support) << fusion.support.reason();
    EXPECT_EQ(fusion.rectifier.slope, slope);
    EXPECT_EQ(fusion.rectifier.ceiling, ceiling);
  };
  expect_fused({}, 1, INFINITY);
  expect_fused({&kRelu}, 0, INFINITY);
  expect_fused({&kRelu6}, 0, 6);
  expect_fused({&kLeaky}, 0.1f, INFINITY);
  expect_fused({&kRelu, &kRelu6}, 0, 6);
  for (const Layer* const layer : std::vector<const Layer*>{&kFalling, &kFromOne, &kSteep, &kTanh})
    EXPECT_FALSE(fusion_of({layer}).support) << layer->describe();
  EXPECT_EQ(fusion_of({&kTanh}).support.reason(),
            "a rectifier or max pooling can be fused, found tanh: leave that layer unfused");
  for (const std::vector<const Layer*>& twice : std::vector<std::vector<const Layer*>>{
           {&kRelu, &kRelu}, {&kLeaky, &kRelu}, {&kRelu6, &kRelu6}, {&kRelu, &kLeaky}})
    EXPECT_EQ(fusion_of(twice).support.reason(),
              "one rectifier can be fused, found two: leave that layer unfused");
  const MaxPool2dLayer pool(Pool2dWindow::square(2, 2)), ceil({2, 2, 2, 2, 0, 0, 0, 0, 1, 1, true});
  EXPECT_EQ(fusion_of({&pool, &pool}).support.reason(),
            "one max pooling can be fused, found two: leave that layer unfused");
  EXPECT_EQ(
      fusion_of({&ceil}).support.reason(),
      "only max pooling with even padding of up to half a window, without dilation and ceil, can be fused, "
      "found 2x2 stride 2 pad 0 ceil: leave the pooling a layer of its own");
}

// The values at which a rectifier changes its branch, infinities and NaN, as the layers compute them.
TEST(Conv2dLayer, ARectifierHasTheBitsOfItsLayer) {
  const float values[] = {-INFINITY, -3, -0.0f, 0, 0.5f, 6, 6.5f, INFINITY};
  for (const float x : values) {
    EXPECT_EQ(Rectifier(true).of(x), relu(x)) << x;
    EXPECT_EQ(Rectifier(0, 6).of(x), activate<Activation::kClip>(x, 0, 6)) << x;
    EXPECT_EQ(Rectifier(0.1f, INFINITY).of(x), activate<Activation::kLeakyRelu>(x, 0.1f, 0)) << x;
    EXPECT_EQ(Rectifier().of(x), x);
  }
  EXPECT_TRUE(std::isnan(Rectifier(0, 6).of(NAN)));
}

// OpenMP's threads do not exist in a forked child, whose next loop over several of them would hang. A batch that is
// split over the program's own threads uses one OpenMP thread each, and works.
TEST(Conv2dLayer, OneDnnWithSeveralThreadsIsRefusedAfterAFork) {
  const int before = num_threads();
  set_num_threads(4);
  const Conv2dLayer layer = make_layer("ic16ih32oc32kh3");
  Stream stream(Device::cpu());
  struct Prepared {
    Tensor x, y;
    std::unique_ptr<Operator> op;
    Buffer workspace;
  };
  const auto prepare = [&](int64_t count) {
    const OperatorRequest request = request_for(layer, {count, 16, 32, 32});
    auto op = layer.prepare("onednn", request, stream);
    const size_t bytes = op->workspace_bytes();
    return Prepared{tensor_of({count, 16, 32, 32}, 3), Tensor(request.output), std::move(op),
                    Buffer(Device::cpu(), bytes)};
  };
  const auto run = [&](Prepared& of) {
    RunContext context{stream, of.workspace.data(), nullptr};
    of.op->run({of.x.view()}, of.y.view(), context);
    return std::vector<float>(of.y.data(), of.y.data() + of.y.shape().num_elements());
  };
  const OperatorRequest requested = request_for(layer, {1, 16, 32, 32});
  if (const Support support = layer.supports("onednn", requested); !support) GTEST_SKIP() << support.reason();
  Prepared one = prepare(1), many = prepare(8);
  const std::vector<float> of_one = run(one), of_many = run(many);
  const auto refused = [](const auto& body) {
    return message_of<DeviceError>(body).find("before this process was forked") != std::string::npos;
  };
  EXPECT_EQ(test::in_child([&] {
              int failures = 0;
              failures += refused([&] { run(one); }) ? 0 : 1;
              failures += refused([&] { prepare(1); }) ? 0 : 2;
              failures += run(many) == of_many ? 0 : 4;
              Prepared fresh = prepare(8);
              failures += run(fresh) == of_many ? 0 : 8;
              set_num_threads(1);
              Prepared alone = prepare(1);
              failures += run(alone) == of_one ? 0 : 16;
              return failures;
            }),
            0);
  EXPECT_EQ(run(one), of_one) << "the parent goes on";
  set_num_threads(before);
}

TEST(ConvRegistry, NamesTheLegalBackends) {
  for (DeviceKind device : kDeviceKinds) {
    const std::string message =
        expect_error<UsageError>([&] { find_conv_backend(device, "cuddn"); }, "cuddn");
    for (const ConvBackendEntry& entry : conv_backend_entries(device)) {
      EXPECT_NE(message.find(entry.name()), std::string::npos) << message;
      EXPECT_EQ(&find_conv_backend(device, entry.name()), &entry);
    }
  }
  EXPECT_EQ(conv_backend_entries(DeviceKind::kCpu).front().name(), "depthwise");
}

// Without a limit cuDNN gets this much; --help of both programs and docs/cli.md state it.
TEST(ConvRegistry, CudnnStopsAt512MiBByDefault) {
  try {
    const ConvBackend& cudnn = find_conv_backend(DeviceKind::kCuda, "cudnn").open();
    EXPECT_EQ(cudnn.workspace_bytes(Conv2dProblem::parse("mb64ic64ih64oc64kh3"), MathMode::kFp32),
              size_t{512} << 20);
  } catch (const UnavailableError& error) {
    GTEST_SKIP() << error.what();
  }
}

// A backend that exists for the other kind of device is no typing error, but an unavailable device.
TEST(ConvRegistry, DistinguishesABackendOfAnotherDeviceFromNone) {
  for (const auto& [device, name] :
       {std::pair{DeviceKind::kCpu, "tensor_core"}, {DeviceKind::kCuda, "onednn"}}) {
    expect_error<UnavailableError>([&, device = device, name = name] { find_conv_backend(device, name); },
                                   concat("'", name, "' runs on ", to_string(other_kind(device))),
                                   "there are: ");
  }
}

#ifdef LENSLET_HAS_CUDA
// Few channels and filters fill no tile of the tensor cores, unless there are many images for the kernel that computes
// them image by image: without those fp32 suits them in every mode.
TEST(Conv2dLayer, TakesFp32WhereTensorCoresWouldIdle) {
  for (const auto& [text, taken] : {std::pair{"mb10000ic1ih28oc6kh5", "tensor_core tf32"},
                                    {"mb10000ic6ih12oc16kh5", "tensor_core tf32"},
                                    {"mb128ic1ih28oc6kh5", "direct fp32"},
                                    {"mb10000ic6ih12oc16kh5sh2", "direct fp32"},
                                    {"mb10000ic6ih12oc16kh4", "direct fp32"},
                                    {"mb8ic3ih224oc64kh7sh2ph3", "tensor_core tf32"},
                                    {"mb8ic64ih56oc16kh3ph1", "tensor_core tf32"},
                                    {"mb8ic64ih56oc64kh3ph1", "tensor_core tf32"}}) {
    const Conv2dLayer layer = make_layer(text);
    OperatorRequest request =
        request_for(layer, {Conv2dProblem::parse(text).input_shape()}, Device::cuda(), MathMode::kTf32);
    const BackendEntry* const entry = choose_within_math(layer, request);
    EXPECT_EQ(concat(entry->name(), " ", to_string(request.math)), taken) << text;
  }
}

// In fp32 on a GPU: as measured on an H200, on which every backend of the table is supported.
TEST(Conv2dLayer, TakesOnAGpuWhatSuits) {
  for (const auto& [text, backend] : {std::pair{"mb1ic3ih32oc16kh3ph1", "sliced_k"},
                                      {"mb1ic64ih8oc64kh3ph1", "sliced_k"},
                                      {"mb64ic1ih28oc6kh5", "direct"},
                                      {"mb64ic6ih12oc16kh5", "sliced_k"},
                                      {"mb10000ic6ih12oc16kh5", "direct"},
                                      {"mb8ic3ih256oc3kh3ph1", "direct"},
                                      {"mb8ic3ih64oc64kh3ph1", "direct"},
                                      {"mb1ic3ih224oc64kh7sh2ph3", "split_gemm"},
                                      {"mb1ic64ih56oc64kh1", "split_gemm"},
                                      {"mb1ic512ih7oc512kh3ph1", "split_gemm"},
                                      {"mb8ic512ih7oc512kh3ph1", "split_gemm"},
                                      {"mb64ic256ih56oc128kh1", "split_gemm"},
                                      {"mb64ic128ih56oc128kh3sh2ph1", "split_gemm"},
                                      {"mb8ic64ih56oc64kh3ph1", "winograd"},
                                      {"mb8ic256ih14oc256kh3ph1", "winograd"},
                                      {"mb64ic512ih7oc512kh3ph1", "winograd"},
                                      {"mb8ic32ih64oc128kh3", "winograd"},
                                      {"mb8ic64ih56oc32kh1", "implicit_gemm"},
                                      {"mb2ic32ih56oc64kh1", "implicit_gemm"},
                                      {"mb64ic16ih32oc16kh3ph1", "implicit_gemm"}}) {
    const Conv2dLayer layer = make_layer(text);
    const OperatorRequest request =
        request_for(layer, {Conv2dProblem::parse(text).input_shape()}, Device::cuda(), MathMode::kFp32);
    EXPECT_EQ(layer.preferred(request), backend) << text;
  }
}
#endif

// suits() depends on the problem alone: it requires channels and filters that fill vectors, and more than two tiles.
TEST(Conv2dLayer, TakesWinogradWhereItSuits) {
  for (const auto& [text, backend] : {std::pair{"mb1ic16ih32oc16kh3ph1", "winograd"},
                                      {"mb4ic64ih8oc64kh3ph1", "winograd"},
                                      {"mb1ic64ih8oc64kh3ph1", "winograd"},
                                      {"mb1ic64ih4oc64kh3ph1", "direct"},
                                      {"mb64ic3ih32oc16kh3ph1", "direct"},
                                      {"mb64ic16ih32oc2kh3ph1", "direct"},
                                      {"mb64ic16ih32oc16kh5ph2", "direct"},
                                      {"g16mb64ic16ih32oc16kh3ph1", "depthwise"}}) {
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    const Conv2dLayer layer = make_layer(text);
    OperatorRequest request = request_for(layer, problem.input_shape());
    EXPECT_EQ(layer.preferred(request), backend) << text;
    // One that does not suit fuses as much when it is asked for by name.
    const ReluLayer next;
    request.fused = {&next};
    const BackendEntry* const winograd = layer.find_backend("winograd", DeviceKind::kCpu);
    EXPECT_TRUE(!layer.supports(*winograd, request) || layer.suits(*winograd, request)) << text;
  }
}

/// Records its calls.
class StageList : public Tracer {
 public:
  void begin(const char* name) override {
    names.emplace_back(name);
    ++open;
  }
  void end() noexcept override { --open; }
  std::vector<std::string> names;
  int open = 0;
};

TEST(Conv2dLayer, Im2colShowsItsStages) {
  const Conv2dLayer layer = make_layer("ic6ih12oc16kh5");
  const OperatorRequest request = request_for(layer, {2, 6, 12, 12});
  Stream stream(Device::cpu());
  const auto op = layer.prepare("im2col_gemm", request, stream);
  EXPECT_NE(op->detail(), "");
  const Buffer workspace(Device::cpu(), op->workspace_bytes());
  const Tensor x = tensor_of({2, 6, 12, 12}, 4);
  Tensor y(request.output);
  StageList stages;
  RunContext context{stream, workspace.data(), &stages};
  op->run({x.view()}, y.view(), context);
  EXPECT_EQ(stages.names, (std::vector<std::string>{"im2col", "gemm", "bias_rectifier"}));
  EXPECT_EQ(stages.open, 0);
}

}  // namespace
}  // namespace lenslet
