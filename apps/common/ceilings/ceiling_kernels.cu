#include "apps/common/ceilings/ceiling_kernels.h"

#include <cstdint>

#include "apps/common/ceilings/peak_values.cuh"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/memory.cuh"
#include "framework/instructions/mma.cuh"

namespace lenslet {
namespace {

constexpr int kThreads = 256;
// Blocks per multiprocessor: full occupancy for FFMA and reading, half of it for mma.sync, whose accumulators take more
// registers.
constexpr int kFullBlocks = 8, kMmaBlocks = 4;
constexpr int kChains = 8;  // independent sums per thread or warp, which hide the latency of an instruction
// The kernels run for about a millisecond, long against a launch. Chosen by hand.
constexpr int kFmaRounds = 16384, kMmaRounds = 4096;

// computes    kChains sums per thread, sum = sum * factor + addend, `rounds` times
// work split  grid = any number of blocks of kThreads, all alike
// memory      none; a result is stored only if it has a value that never occurs, which keeps the compiler from
//             removing the sums
// requires    nothing
// measured    `peaks` of every result file (FFMA)
__global__ void __launch_bounds__(kThreads) peak_fma_kernel(int rounds, float factor, float addend,
                                                            float* __restrict__ sink) {  // [1], never written
  float sums[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) sums[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 16
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) sums[i] = fmaf(sums[i], factor, addend);
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) total += sums[i];
  if (total == -1.0f) *sink = total;
}

// computes    kChains products of 16 x 8 per warp, added up, `rounds` times: tf32 with depth 8, fp16 with depth 16
// work split  grid = any number of blocks of kThreads, all warps alike
// memory      none; see peak_fma_kernel for the store
// requires    compute capability 8.0 (checked by peak_kernels)
// measured    `peaks` of every result file (mma.sync)
template <MathMode kMath>
__global__ void __launch_bounds__(kThreads) peak_mma_kernel(int rounds,
                                                            float* __restrict__ sink) {  // [1], never written
#if __CUDA_ARCH__ >= 800
  const uint32_t lane = threadIdx.x % 32, sign = lane % 2 * kPairSigns;
  const uint32_t bits = peak_values<kMath>(lane) | sign;
  const uint4 a = make_uint4(bits, bits ^ kPairSigns, bits, bits ^ kPairSigns);
  float sums[kChains][4] = {};
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) {
      if constexpr (kMath == MathMode::kTf32) {
        multiply_tf32(sums[i], a, bits, bits, sums[i]);
      } else {
        multiply_fp16(sums[i], a, bits, bits, sums[i]);
      }
    }
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) total += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
  if (total == -1.0f) *sink = total;
#endif
}

// computes    nothing: reads 16 bytes a thread and step, `steps` steps of the whole grid, `passes` times
// work split  thread i of the grid reads the i-th 16 bytes of each step, so that a warp reads 512 bytes side by side
// memory      global, past L1 (ld.global.cg); see peak_fma_kernel for the store
// requires    steps * 16 bytes * threads of the grid within `data` (launch_read rounds down), aligned to 16 bytes (the
//             start of a buffer of its caller)
// measured    `read_bytes_per_s` of every result file
__global__ void __launch_bounds__(kThreads)
    peak_read_kernel(const uint4* __restrict__ data,  // [steps, threads of the grid]
                     int64_t steps, int passes,
                     float* __restrict__ sink) {  // [1], hardly ever written
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  const uint4* const first = data + int64_t{blockIdx.x} * kThreads + threadIdx.x;
  uint32_t mixed = 0;
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 8
    for (int64_t step = 0; step < steps; ++step) {
      const uint4 value = load_past_l1(first + step * threads);
      mixed ^= value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  if (mixed == 0x9e3779b9u) *sink = 1;
}

// computes    nothing
// work split  one thread
// memory      none
// requires    nothing
// measured    the `launch_ns` of every result file
__global__ void empty_kernel() {}

double launch_fma_peak(Stream& stream, float* sink) {
  const int blocks = kFullBlocks * multiprocessor_count(stream.device());
  launch("peak_fma_kernel", peak_fma_kernel, blocks, kThreads, 0, native(stream), kFmaRounds, 0.999f, 0.001f,
         sink);
  return 2.0 * blocks * kThreads * kChains * kFmaRounds;
}

template <MathMode kMath>
double launch_mma_peak(Stream& stream, float* sink) {
  const int blocks = kMmaBlocks * multiprocessor_count(stream.device());
  launch("peak_mma_kernel", peak_mma_kernel<kMath>, blocks, kThreads, 0, native(stream), kMmaRounds, sink);
  constexpr double kProduct = 2.0 * 16 * 8 * (kMath == MathMode::kTf32 ? 8 : 16);
  return kProduct * blocks * (kThreads / GpuLimits::kWarp) * kChains * kMmaRounds;
}

}  // namespace

std::vector<PeakKernel> peak_kernels(Device device) {
  const int capability = cuda_status().devices.at(static_cast<size_t>(device.ordinal)).compute_capability;
  std::vector<PeakKernel> kernels = {{MathMode::kFp32, "FFMA", launch_fma_peak}};
  if (capability >= GpuLimits::kAsyncCopies) {
    kernels.push_back({MathMode::kTf32, "mma.sync", launch_mma_peak<MathMode::kTf32>});
    kernels.push_back({MathMode::kFp16, "mma.sync", launch_mma_peak<MathMode::kFp16>});
  }
#ifdef LENSLET_HAS_HOPPER
  if (capability == GpuLimits::kWgmma) {
    for (const MathMode math : {MathMode::kTf32, MathMode::kFp16}) {
      kernels.push_back({math, "wgmma", [math](Stream& stream, float* sink) {
                           return launch_wgmma_peak(stream, math, 2 * multiprocessor_count(stream.device()),
                                                    sink);
                         }});
    }
  }
#endif
  return kernels;
}

double launch_read(Stream& stream, const void* data, size_t bytes, int passes, float* sink) {
  const int blocks = kFullBlocks * multiprocessor_count(stream.device());
  const size_t step_bytes = sizeof(uint4) * kThreads * static_cast<size_t>(blocks);
  const auto steps = static_cast<int64_t>(bytes / step_bytes);
  launch("peak_read_kernel", peak_read_kernel, blocks, kThreads, 0, native(stream),
         static_cast<const uint4*>(data), steps, passes, sink);
  return static_cast<double>(steps) * static_cast<double>(step_bytes) * passes;
}

void launch_empty(Stream& stream) { launch("empty_kernel", empty_kernel, 1, 1, 0, native(stream)); }

}  // namespace lenslet
