// Launches that begin before the one before them ends read what that one wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "framework/device/device_memory.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/early_launch.cuh"
#include "layers/pairwise/pairwise_layer.h"
#include "tests/support/gpu.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kLateCycles = 200'000;  // 0.1 ms: much longer than the delay between two launches

// computes: y = 1, late, while the next launch may begin · work split: one block · memory: none · requires: nothing
// measured: never
__global__ void __launch_bounds__(kThreads) write_ones_late_kernel(float* y, int64_t count) {
  let_next_launch_begin();
  for (const int64_t began = clock64(); clock64() - began < kLateCycles;) {
  }
  for (int64_t i = threadIdx.x; i < count; i += kThreads) y[i] = 1.0f;
}

class EarlyLaunches : public testing::TestWithParam<Shape> {};

TEST_P(EarlyLaunches, SumsReadWhatTheLaunchBeforeWrote) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Shape x{64, 16, 16}, &one = GetParam();
  Stream stream(Device::cuda());
  const PairwiseLayer layer(Pairwise::kAdd);
  const std::unique_ptr<Operator> add =
      layer.prepare("direct", request_for(layer, {x, one}, Device::cuda(), MathMode::kFp32), stream);
  std::vector<float> values(static_cast<size_t>(x.num_elements()), 1.0f);
  const Buffer from(Device::cuda(), x.bytes()), ones(Device::cuda(), one.bytes()),
      to(Device::cuda(), x.bytes());
  copy_bytes(ones.data(), Device::cuda(), values.data(), Device::cpu(), one.bytes(), stream);
  RunContext context{stream, nullptr, nullptr};
  // The first run also loads the kernel, which may wait for the launch before.
  for (int run = 0; run < 3; ++run) {
    fill_bytes(from.data(), Device::cuda(), 0, from.bytes(), stream);
    stream.synchronise();
    write_ones_late_kernel<<<1, kThreads, 0, native(stream)>>>(from.as<float>(), x.num_elements());
    LENSLET_CUDA_CHECK_LAUNCH("write_ones_late_kernel");
    add->run({{from.as<float>(), x, Device::cuda()}, {ones.as<float>(), one, Device::cuda()}},
             {to.as<float>(), x, Device::cuda()}, context);
    copy_bytes(values.data(), Device::cpu(), to.data(), Device::cuda(), to.bytes(), stream);
    stream.synchronise();
    EXPECT_EQ(std::count(values.begin(), values.end(), 2.0f), x.num_elements()) << "run " << run;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EarlyLaunches, testing::Values(Shape{64, 16, 16}, Shape{64, 16, 1}),
                         [](const auto& param) { return param.param[2] == 1 ? "strided" : "same"; });

}  // namespace
}  // namespace lenslet
