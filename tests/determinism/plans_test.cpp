// The promises of executables: the bits of a plan do not depend on how it is run, nor on the batch if every step
// promises `position`; and fusing changes no bit.
#include <gtest/gtest.h>

#include <cstring>

#include "framework/base/error.h"
#include "framework/execution/executable.h"
#include "layers/reference/fill.h"
#include "models/lenet5.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

constexpr DeviceKind kKind = LENSLET_TEST_DEVICE;
constexpr int64_t kPixels = kLenet5Pixels, kImages = 65;

const Graph& lenet5() {
  static const Graph graph = make_lenet5(builtin_lenet5_weights(), "built-in weights");
  return graph;
}

/// kImages normalised images.
const std::vector<float>& images() {
  static const std::vector<float> values = reference::normal_values(kImages * kPixels, 5);
  return values;
}

/// Logits of `batch` images from number `first` on, after two runs.
std::vector<float> logits(Executable& executable, int64_t first) {
  const TensorView input = executable.input();
  const ConstTensorView output = executable.output();
  std::vector<float> values(static_cast<size_t>(output.shape.num_elements()));
  Stream& stream = executable.stream();
  for (int run = 0; run < 2; ++run) {  // with mapped input and output both are host memory
    copy_bytes(input.data, input.device, images().data() + first * kPixels, Device::cpu(), input.bytes(),
               stream);
    stream.synchronise();
    executable.run();
    stream.synchronise();
    copy_bytes(values.data(), Device::cpu(), output.data, output.device, output.bytes(), stream);
    stream.synchronise();
  }
  return values;
}

std::vector<float> logits(const BuildOptions& options, int64_t first = 0) {
  Executable executable(lenet5(), options);
  return logits(executable, first);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Options for every way to compute LeNet-5: the whole-network backends, and layered with each backend for both
/// convolutions.
struct Way {
  std::string name;
  BuildOptions options;
};

std::vector<Way> ways(Device device, int64_t batch) {
  std::vector<Way> all;
  BuildOptions base;
  base.device = device;
  base.batch = batch;
  for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
    base.math = math;
    for (const std::string& backend : lenet5().network()->backends(device.kind)) {
      Way way{concat("fused ", backend, " ", to_string(math)), base};
      way.options.execution = Plan::kFused;
      way.options.backends = BackendSpec::parse(backend);
      all.push_back(std::move(way));
    }
    for (const std::string& backend : lenet5().node("conv1").layer->backends(device.kind)) {
      Way way{concat("layered ", backend, " ", to_string(math)), base};
      way.options.backends = BackendSpec::parse(concat("conv1=", backend, ",conv2=", backend));
      all.push_back(std::move(way));
    }
  }
  return all;
}

class DeterminismOfPlans : public testing::Test {
 protected:
  void SetUp() override {
    if (kKind == DeviceKind::kCuda) LENSLET_SKIP_WITHOUT_GPU();
    device_ = kKind == DeviceKind::kCuda ? Device::cuda() : Device::cpu();
  }

  /// Calls check(way, executable) with every available way; at least three.
  template <typename Check>
  void for_each_way(int64_t batch, Check check) {
    int supported = 0;
    for (const Way& way : ways(device_, batch)) {
      std::unique_ptr<Executable> executable;
      try {
        executable = std::make_unique<Executable>(lenet5(), way.options);
      } catch (const UnavailableError&) {
        continue;
      }
      ++supported;
      SCOPED_TRACE(way.name);
      check(way, *executable);
    }
    EXPECT_GE(supported, 3);
  }

  Device device_;
};

TEST_F(DeterminismOfPlans, AnExecutablePromisesWhatItsWeakestStepDoes) {
  for_each_way(1, [](const Way&, Executable& executable) {
    Determinism weakest = Determinism::kPosition;
    for (const Executable::Step& step : executable.steps()) weakest = weaker(weakest, step.determinism);
    EXPECT_EQ(executable.determinism(), weakest);
  });
}

TEST_F(DeterminismOfPlans, ReplayedAfreshAPlanGivesTheSameBits) {
  for (const int64_t batch : {1, 65}) {
    for_each_way(batch, [&](const Way& way, Executable& executable) {
      const std::vector<float> expected = logits(executable, 0);
      const Plan plan = executable.plan();  // with what libraries chose by timing
      BuildOptions replay = way.options;
      replay.backends = BackendSpec();
      replay.plan = &plan;
      EXPECT_TRUE(same_bits(logits(replay), expected)) << "batch " << batch;
    });
  }
}

TEST_F(DeterminismOfPlans, APlanGivesAnImageTheSameLogitsAloneAndInABatch) {
  for_each_way(1, [&](const Way& way, Executable& single) {
    if (single.determinism() < Determinism::kPosition) return;
    const Plan plan = single.plan();
    BuildOptions replay = way.options;
    replay.backends = BackendSpec();
    replay.plan = &plan;
    for (const int64_t batch : {2, 7, 64, 65}) {
      replay.batch = batch;
      std::unique_ptr<Executable> many;
      try {
        many = std::make_unique<Executable>(lenet5(), replay);
      } catch (const UnavailableError&) {
        continue;  // a backend for small batches
      }
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
    for_each_way(batch, [&](const Way& way, Executable& fused) {
      if (way.options.execution == Plan::kFused || fused.determinism() < Determinism::kPosition) return;
      BuildOptions apart = way.options;
      apart.fuse = false;
      EXPECT_TRUE(same_bits(logits(apart), logits(fused, 0))) << "batch " << batch;
    });
  }
}

TEST_F(DeterminismOfPlans, ACudaGraphAndMappedMemoryChangeNoBit) {
  if (kKind != DeviceKind::kCuda) GTEST_SKIP() << "both are the GPU's";
  for (const int64_t batch : {1, 65}) {
    for_each_way(batch, [&](const Way& way, Executable& plain) {
      const std::vector<float> expected = logits(plain, 0);
      const Plan plan = plain.plan();
      for (const bool mapped : {false, true}) {
        BuildOptions other = way.options;
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
