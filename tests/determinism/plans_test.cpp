// The promises of executables: the bits of a plan do not depend on how it is run, nor on the batch if every step
// promises `position`; and fusing changes no bit.
#include <gtest/gtest.h>

#include "layers/reference/fill.h"
#include "tests/support/host_values.h"
#include "tests/support/lenet5.h"
#include "tests/support/test_device.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Pixels, kImages = 65;

/// kImages normalised images.
const std::vector<float>& images() {
  static const std::vector<float> values = reference::normal_values(kImages * kPixels, 5);
  return values;
}

/// Logits of one batch of images from number `first` on, after two runs.
std::vector<float> logits(Executable& executable, int64_t first) {
  const TensorView input = executable.input();
  std::vector<float> values;
  Stream& stream = executable.stream();
  for (int run = 0; run < 2; ++run) {  // with mapped input and output both are host memory
    copy_bytes(input.data, input.device, images().data() + first * kPixels, Device::cpu(), input.bytes(),
               stream);
    stream.synchronise();
    executable.run();
    stream.synchronise();
    values = host_values(executable.output(), stream);
  }
  return values;
}

std::vector<float> logits(const BuildOptions& options, int64_t first = 0) {
  Executable executable(lenet5(), options);
  return logits(executable, first);
}

Ways ways(int64_t batch) {
  Ways all;
  BuildOptions base = options_on(kDevice, batch);
  for (const MathMode math : kMathModes) {
    base.math = math;
    for (const Ways& more : {fused_ways(base), layered_ways(base)})
      all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

/// Calls check(options, executable) with every available way; at least three.
template <typename Check>
void for_each_way(int64_t batch, Check check) {
  int supported = 0;
  for (const auto& [name, options] : ways(batch)) {
    const std::unique_ptr<Executable> executable = lenet5_if_available(options);
    if (!executable) continue;
    ++supported;
    SCOPED_TRACE(name);
    check(options, *executable);
  }
  EXPECT_GE(supported, 3);
}

using DeterminismOfPlans = DeviceTest<>;

TEST_F(DeterminismOfPlans, AnExecutablePromisesWhatItsWeakestStepDoes) {
  for_each_way(1, [](const BuildOptions&, Executable& executable) {
    Determinism weakest = Determinism::kPosition;
    for (const Executable::Step& step : executable.steps()) weakest = weaker(weakest, step.determinism);
    EXPECT_EQ(executable.determinism(), weakest);
  });
}

TEST_F(DeterminismOfPlans, ReplayedAfreshAPlanGivesTheSameBits) {
  for (const int64_t batch : {1, 65}) {
    for_each_way(batch, [&](const BuildOptions& options, Executable& executable) {
      const std::vector<float> expected = logits(executable, 0);
      const Plan plan = executable.plan();  // with what libraries chose by timing
      BuildOptions replay = options;
      replay.backends = BackendSpec();
      replay.plan = &plan;
      EXPECT_TRUE(same_bits(logits(replay), expected)) << "batch " << batch;
    });
  }
}

TEST_F(DeterminismOfPlans, APlanGivesAnImageTheSameLogitsAloneAndInABatch) {
  for_each_way(1, [&](const BuildOptions& options, Executable& single) {
    if (single.determinism() < Determinism::kPosition) return;
    const Plan plan = single.plan();
    BuildOptions replay = options;
    replay.backends = BackendSpec();
    replay.plan = &plan;
    for (const int64_t batch : {2, 7, 64, 65}) {
      replay.batch = batch;
      const std::unique_ptr<Executable> many = lenet5_if_available(replay);
      if (!many) continue;  // a backend for small batches
      EXPECT_EQ(many->determinism(), Determinism::kPosition);
      const std::vector<float> together = logits(*many, 0);
      for (const int64_t place : {int64_t{0}, batch / 2, batch - 1}) {
        const std::vector<float> alone = logits(single, place);
        const auto from = together.begin() + place * 10;
        EXPECT_TRUE(same_bits(alone, std::vector<float>(from, from + 10))) << place << " of " << batch;
      }
    }
  });
}

TEST_F(DeterminismOfPlans, FusingReluAndPoolingChangesNoBit) {
  for (const int64_t batch : {1, 65}) {
    for_each_way(batch, [&](const BuildOptions& options, Executable& fused) {
      if (options.execution == Plan::kFused || fused.determinism() < Determinism::kPosition) return;
      BuildOptions apart = options;
      apart.fuse = false;
      EXPECT_TRUE(same_bits(logits(apart), logits(fused, 0))) << "batch " << batch;
    });
  }
}

TEST_F(DeterminismOfPlans, ACudaGraphAndMappedMemoryChangeNoBit) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "both are the GPU's";
  for (const int64_t batch : {1, 65}) {
    for_each_way(batch, [&](const BuildOptions& options, Executable& plain) {
      const std::vector<float> expected = logits(plain, 0);
      const Plan plan = plain.plan();
      for (const bool mapped : {false, true}) {
        BuildOptions other = options;
        other.backends = BackendSpec();
        other.plan = &plan;
        other.cuda_graph = !mapped;
        other.mapped_io = mapped;
        EXPECT_TRUE(same_bits(logits(other), expected))
            << (mapped ? "mapped" : "graph") << ", batch " << batch;
      }
    });
  }
}

}  // namespace
}  // namespace lenslet
