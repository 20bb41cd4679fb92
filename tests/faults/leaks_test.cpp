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
#include "models/fused_lenet5/resident.h"
#include "tests/support/lenet5.h"
#include "tests/support/memory_growth.h"
#include "tests/support/sanitizers.h"
#include "tests/support/test_device.h"

namespace lenslet {
namespace {

// Fewer on a CPU, to keep the suite short.
const int kRuns = kDevice.is_cuda() ? 10000 : 2000;
const int kBuilds = kDevice.is_cuda() ? 200 : 60;
constexpr int64_t kBatch = 3;
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

/// The driver counts device memory for all programs together.
void expect_flat(const std::string& what, int times, const std::function<void(int)>& body,
                 int64_t host_bytes = test::kMaxGrowth) {
  body(times / 10);  // warms up
  Memory min_growth{INT64_MAX, INT64_MAX, 0};
  for (int go = 0; go < test::kGrowthRounds; ++go) {
    const Memory before;
    body(times);
    const Memory after;
    EXPECT_EQ(after.buffers, before.buffers) << what << ": buffers are left";
    min_growth.device = std::min(min_growth.device, after.device - before.device);
    min_growth.host = std::min(min_growth.host, after.host - before.host);
    if (min_growth.device <= test::kMaxGrowth && min_growth.host <= host_bytes) break;
  }
  EXPECT_LE(min_growth.device, test::kMaxGrowth) << what << ": device memory grew each time";
  if (!test::kSanitized) {
    EXPECT_LE(min_growth.host, host_bytes) << what << ": the process grew each time";
  }
}

/// Every way to compute the graph that is available here.
Ways ways() {
  BuildOptions base = options_on(kDevice, kBatch);
  Ways all = layered_ways(base);
  if (kDevice.is_cuda()) {
    all.emplace_back("captured graph", base);
    all.back().second.cuda_graph = true;
  }
  for (const MathMode math : kMathModes) {
    base.math = math;
    for (const auto& way : fused_ways(base)) all.push_back(way);
  }
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const auto& way) { return !lenet5_if_available(way.second); }),
            all.end());
  return all;
}

using Leaks = DeviceTest<>;

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
        name == "cudnn fp32" ? test::kMaxGrowth + kBuilds * kKeptByCudnn : test::kMaxGrowth);
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
