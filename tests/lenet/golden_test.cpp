// The CPU against PyTorch: activations layer by layer, and the 10,000 digits of the MNIST test set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "framework/base/parallel.h"
#include "framework/tensor/roundoff.h"
#include "layers/softmax/softmax_layer.h"
#include "tests/lenet/lenet_fixture.h"
#include "tests/support/allocation_counter.h"

namespace lenslet {
namespace {

TEST(Golden, EveryPairOfBackendsGivesPyTorchsActivations) {
  const std::vector<std::string> pairs = conv_pairs(Device::cpu());
  ASSERT_GE(pairs.size(), 4u);
  for (const std::string& pair : pairs) {
    for (bool fuse : {false, true}) check_golden_activations(Device::cpu(), pair, fuse);
  }
}

TEST(Golden, EveryLinearBackendGivesPyTorchsActivations) {
  for (const std::string& backend : lenet5().node("fc1").layer->backends(DeviceKind::kCpu)) {
    check_golden_activations(Device::cpu(), "fc1=" + backend + ",fc2=" + backend + ",fc3=" + backend, true);
  }
}

TEST(Golden, FusedPoolingGivesTheSameBits) {
  for (int64_t batch : {1, 7, 300}) check_fused_pooling(Device::cpu(), batch);
}

TEST(Golden, SoftmaxGivesPyTorchsProbabilities) {
  const Tensor& logits = golden_activations().tensors.at("fc3");
  const Tensor& expected = golden_activations().tensors.at("softmax");
  ASSERT_EQ(logits.shape(), expected.shape());
  const SoftmaxLayer layer;
  const OperatorRequest request = request_for(layer, {logits.shape()}, Device::cpu(), MathMode::kFp32);
  Stream stream(Device::cpu());
  Tensor y(request.output);
  RunContext context{stream, nullptr, nullptr};
  layer.prepare("direct", request, stream)->run({logits.view()}, y.view(), context);
  constexpr double kMaxLogit = 32;
  for (int64_t i = 0; i < y.shape().num_elements(); ++i) {
    ASSERT_LE(std::abs(logits.data()[i]), kMaxLogit);
    // Rounded logits of up to L, and their differences of up to 2L, move an exponential by 4L * 2^-24 of itself, and
    // the sum by as much; the exponential is good to 2 ulp, sum and division to 12 roundings.
    const double probability = expected.data()[i];
    const double bound = (2 * 4 * kMaxLogit + 16) * kUnitFp32 * probability + FLT_MIN;
    EXPECT_LE(std::abs(double{y.data()[i]} - probability), bound) << i;
  }
}

TEST(Golden, NoPairOfBackendsAllocatesWhileItRuns) {
  for (const std::string& pair : conv_pairs(Device::cpu())) {
    for (int64_t batch : {1, 300}) {
      BuildOptions options = options_on(Device::cpu(), batch);
      options.backends = BackendSpec::parse(pair);
      Executable executable(lenet5(), options);
      const std::vector<Executable::Step>& steps = executable.steps();
      const auto is_module = [](const Executable::Step& step) { return step.entry->is_module(); };
      if (std::any_of(steps.begin(), steps.end(), is_module)) continue;  // its library may allocate
      executable.run();
      const AllocationCounter counter;
      executable.run();
      EXPECT_EQ(counter.allocations(), 0) << pair << ", batch " << batch;
    }
  }
}

TEST(Golden, EveryPairOfBackendsReadsTheMnistTestSetAsPyTorchDoes) {
  LENSLET_SKIP_WITHOUT_MNIST();
  for (const std::string& pair : conv_pairs(Device::cpu())) check_mnist_predictions(Device::cpu(), pair, 500);
}

TEST(Golden, TheBatchAndTheThreadsDoNotChangeTheDigits) {
  LENSLET_SKIP_WITHOUT_MNIST();
  const int before = num_threads();
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    for (int64_t batch : {1, 7, 10000}) check_mnist_predictions(Device::cpu(), "auto", batch);
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace lenslet
