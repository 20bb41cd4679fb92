// Neither the device's memory nor the process's grows over many runs and many executables created and destroyed, on
// every backend and plan. Compiled once for each kind of device.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "framework/device/device_memory.h"
#include "framework/execution/executable.h"
#include "layers/conv/conv_registry.h"
#include "models/fused_lenet5/resident.h"
#include "models/lenet5.h"
#include "tests/support/gpu.h"
#include "tests/support/sanitizers.h"

namespace lenslet {
namespace {

constexpr Device kDevice{LENSLET_TEST_DEVICE, 0};
// Fewer on a CPU, to keep the suite short.
constexpr int kRuns = LENSLET_TEST_DEVICE == DeviceKind::kCuda ? 10000 : 2000;
constexpr int kBuilds = LENSLET_TEST_DEVICE == DeviceKind::kCuda ? 200 : 60;
constexpr int64_t kFlat = int64_t{1} << 20;  // accepted growth: repeated growth exceeds it
constexpr int64_t kBatch = 3;
constexpr int kGoes = 3;
// cuDNN 9.14 leaks 71 KiB of host memory per requested set of engines, two per executable, after all of its objects are
// destroyed (a loop of cudnnBackend calls alone: 14,204 KiB in 200 rounds, every time).
constexpr int64_t kKeptByCudnn = 160 << 10;

int64_t resident_bytes() {
  malloc_trim(0);  // free memory is no leak
  // With many cores VmRSS of /proc/self/status may be megabytes off; this counts the pages themselves.
  std::ifstream pages("/proc/self/smaps_rollup");
  for (std::string word; pages >> word;) {
    int64_t kib = 0;
    if (word == "Rss:" && pages >> kib) return kib * 1024;
  }
  throw std::runtime_error("/proc/self/smaps_rollup has no Rss");
}

struct Memory {
  int64_t host = resident_bytes();
  int64_t device = kDevice.is_cuda() ? static_cast<int64_t>(cuda_status().devices[0].memory_bytes) -
                                           static_cast<int64_t>(free_memory_bytes(kDevice))
                                     : 0;
  int64_t buffers = static_cast<int64_t>(device_memory_taken(kDevice));
};

/// Repeated growth is a leak. A single growth is a library's cache, or for device memory, which the driver counts for
/// all programs together, another program's.
void expect_flat(const std::string& what, int times, const std::function<void(int)>& body,
                 int64_t host_bytes = kFlat) {
  body(times / 10);  // warms up
  Memory min_growth{INT64_MAX, INT64_MAX, 0};
  for (int go = 0; go < kGoes; ++go) {
    const Memory before;
    body(times);
    const Memory after;
    EXPECT_EQ(after.buffers, before.buffers) << what << ": buffers are left";
    min_growth.device = std::min(min_growth.device, after.device - before.device);
    min_growth.host = std::min(min_growth.host, after.host - before.host);
    if (min_growth.device <= kFlat && min_growth.host <= host_bytes) break;
  }
  EXPECT_LE(min_growth.device, kFlat) << what << ": device memory grew each time";
  if (!test::kSanitized) {
    EXPECT_LE(min_growth.host, host_bytes) << what << ": the process grew each time";
  }
}

const Graph& lenet5() {
  static const Graph graph = make_lenet5(builtin_lenet5_weights(), "built-in weights");
  return graph;
}

/// Every way to compute the graph: each convolution backend that supports it, each whole-network backend, a captured
/// graph.
std::vector<std::pair<std::string, BuildOptions>> ways() {
  std::vector<std::pair<std::string, BuildOptions>> all;
  BuildOptions layered;
  layered.device = kDevice;
  layered.batch = kBatch;
  for (const ConvBackendEntry& entry : conv_backend_rows(kDevice.kind)) {
    BuildOptions options = layered;
    options.backends = BackendSpec::parse(concat("conv1=", entry.name(), ",conv2=", entry.name()));
    try {
      Executable tried(lenet5(), options);
      all.emplace_back(entry.name(), options);
    } catch (const UnavailableError&) {  // no backend for these shapes, or an unavailable library
    }
  }
  for (const std::string& backend : lenet5().network()->backends(kDevice.kind)) {
    BuildOptions options = layered;
    options.execution = Plan::kFused;
    options.backends = BackendSpec::parse(backend);
    for (const MathMode math : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16}) {
      options.math = math;
      if (lenet5().network()->supports(backend, lenet5().network_request(kDevice, kBatch, math))) {
        all.emplace_back(concat("fused ", backend, " ", to_string(math)), options);
      }
    }
  }
  if (kDevice.is_cuda()) {
    BuildOptions options = layered;
    options.cuda_graph = true;
    all.emplace_back("captured graph", options);
  }
  return all;
}

class Leaks : public testing::Test {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
  }
};

TEST_F(Leaks, RunsLeaveNothingBehind) {
  const auto all = ways();
  ASSERT_GE(all.size(), 3u);
  for (const auto& [name, options] : all) {
    Executable executable(lenet5(), options);
    expect_flat(name, kRuns, [&](int times) {
      for (int i = 0; i < times; ++i) {
        executable.run();
        if (i % 100 == 0) executable.stream().synchronise();
      }
      executable.stream().synchronise();
    });
  }
}

TEST_F(Leaks, ExecutablesLeaveNothingBehind) {
  for (auto& [name, options] : ways()) {
    // Replays the choice made by timing: choosing takes long, and allocates from the same memory.
    const Plan plan = Executable(lenet5(), options).plan();
    BuildOptions built = options;
    built.plan = &plan;
    expect_flat(
        name, kBuilds,
        [&](int times) {
          for (int i = 0; i < times; ++i) {
            Executable executable(lenet5(), built);
            executable.run_checked();
            executable.run();  // the second pass may be captured
            executable.stream().synchronise();
          }
        },
        name == "cudnn" ? kFlat + kBuilds * kKeptByCudnn : kFlat);
  }
}

TEST_F(Leaks, GraphsLeaveNothingBehind) {
  expect_flat("make_lenet5", kBuilds, [](int times) {
    for (int i = 0; i < times; ++i) make_lenet5(builtin_lenet5_weights(), "built-in weights");
  });
}

TEST_F(Leaks, ResidentKernelsLeaveNothingBehind) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "a resident kernel needs a GPU";
  if (!gpu_has_clusters()) GTEST_SKIP() << "clusters need compute capability 9.0";
  const std::vector<uint8_t> image(28 * 28, 100);
  Prediction prediction;
  const auto classify = [&](int kernels, int images) {
    for (int i = 0; i < kernels; ++i) {
      ResidentLenet5 resident(builtin_lenet5_weights());
      for (int k = 0; k < images; ++k) resident.classify(image.data(), 1, &prediction);
    }
  };
  expect_flat("kernels started and ended", kBuilds, [&](int times) { classify(times, 1); });
  expect_flat("images answered", kRuns, [&](int times) { classify(1, times); });
}

}  // namespace
}  // namespace lenslet
