// The GPU against PyTorch: activations layer by layer, and the 10,000 digits of the MNIST test set.
#include <gtest/gtest.h>

#include "tests/lenet/lenet_fixture.h"
#include "tests/support/gpu.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

TEST(GoldenGpu, EveryPairOfBackendsGivesPyTorchsActivations) {
  LENSLET_SKIP_WITHOUT_GPU();
  const std::vector<std::string> pairs = conv_pairs(Device::cuda());
  ASSERT_GE(pairs.size(), 9u);
  for (const std::string& pair : pairs) {
    for (bool fuse : {false, true}) check_golden_activations(Device::cuda(), pair, fuse);
  }
}

TEST(GoldenGpu, EveryLinearBackendGivesPyTorchsActivations) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Layer& fc1 = *lenet5().node("fc1").layer;
  const OperatorRequest fp32 = request_for(fc1, {{1, 16, 4, 4}}, Device::cuda(), MathMode::kFp32);
  for (const std::string& backend : fc1.backends(DeviceKind::kCuda)) {
    if (!fc1.supports(backend, fp32)) continue;  // on tensor cores, which round
    check_golden_activations(Device::cuda(), "fc1=" + backend + ",fc2=" + backend + ",fc3=" + backend, true);
  }
}

TEST(GoldenGpu, EveryPairOfBackendsReadsTheMnistTestSetAsPyTorchDoes) {
  LENSLET_SKIP_WITHOUT_GPU();
  LENSLET_SKIP_WITHOUT_MNIST();
  for (const std::string& pair : conv_pairs(Device::cuda()))
    check_mnist_predictions(Device::cuda(), pair, 10000);
}

TEST(GoldenGpu, TheBatchDoesNotChangeTheDigits) {
  LENSLET_SKIP_WITHOUT_GPU();
  LENSLET_SKIP_WITHOUT_MNIST();
  for (int64_t batch : {1, 7, 64, 10000}) check_mnist_predictions(Device::cuda(), "auto", batch);
}

TEST(GoldenGpu, FusedPoolingGivesTheSameBits) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (int64_t batch : {1, 7, 64, 1000, 10000}) check_fused_pooling(Device::cuda(), batch);
}

// Stored as fp16, a tensor has what its reader would round it to.
TEST(GoldenGpu, TensorsOfFp16GiveTheSameBits) {
  LENSLET_SKIP_WITHOUT_GPU();
  if (cuda_status().devices[0].compute_capability < 80) GTEST_SKIP() << "it needs tensor cores";
  const Tensor& digits = golden_activations().tensors.at("input");
  for (const int64_t batch : {1, 7, 512, 1001, 10000}) {
    SCOPED_TRACE(batch);
    BuildOptions options = options_on(Device::cuda(), batch);
    options.math = MathMode::kFp16;
    Executable full(lenet5(), options);
    Plan plan = full.plan();
    for (PlanLayer& layer : plan.layers) {
      const bool of_conv = layer.type == "conv2d", of_linear = layer.type == "linear" && layer.name != "fc3";
      if (of_linear || (of_conv && batch >= 512)) layer.output = ElementType::kFp16;
    }
    options.plan = &plan;
    Executable half(lenet5(), options);
    Tensor images({batch, 1, kLenet5Side, kLenet5Side});
    for (int64_t i = 0; i < images.shape().num_elements(); ++i)
      images.data()[i] = digits.data()[i % digits.shape().num_elements()];
    std::vector<float> logits[2];
    for (Executable* const executable : {&half, &full}) {
      copy(images.view(), executable->input(), executable->stream());
      executable->run();
      logits[executable == &full] = host_values(executable->output(), executable->stream());
    }
    EXPECT_TRUE(same_bits(logits[0], logits[1]));
  }
}

TEST(GoldenGpu, ACapturedGraphGivesTheSameBits) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Tensor& input = golden_activations().tensors.at("input");
  for (const std::string& pair : conv_pairs(Device::cuda())) {
    std::vector<float> results[2];
    Determinism promise = Determinism::kPosition;
    for (bool graph : {false, true}) {
      BuildOptions options = options_on(Device::cuda(), input.shape()[0]);
      options.backends = BackendSpec::parse(pair);
      Executable first(lenet5(), options);
      promise = first.determinism();
      // Libraries may choose by timing: both runs must replay one plan with the same choices.
      const Plan& plan = first.plan();
      options.plan = &plan;
      options.cuda_graph = graph;
      Executable executable(lenet5(), options);
      copy(input.view(), executable.input(), executable.stream());
      executable.run();
      executable.run();
      results[graph] = host_values(executable.output(), executable.stream());
    }
    if (promise == Determinism::kBounded) continue;  // a choice by timing, once a build
    EXPECT_TRUE(same_bits(results[0], results[1])) << pair;
  }
}

}  // namespace
}  // namespace lenslet
