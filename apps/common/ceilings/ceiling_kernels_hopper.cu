// Measures the rate of Hopper's wgmma. Compiled for sm_90a only.
#include <cuda_runtime.h>

#include "apps/common/ceilings/ceiling_kernels.h"
#include "framework/device/cuda_check.h"
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/wgmma.cuh"

namespace lenslet {
namespace {

constexpr int kThreads = 256;  // two warpgroups: one issues while the other waits
constexpr int kRows = 64, kColumns = 128, kDepthBytes = 32;  // the tile of one wgmma
constexpr int kGroup = 8, kRounds = 1024;  // instructions between two waits, and the number of waits

// computes    d [64 x 128] += a [64 x 32 bytes] * b [32 bytes x 128] a warpgroup, kGroup * kRounds times
// work split  grid = any number of blocks of two warpgroups, all alike
// memory      shared: a (2 KiB) and b (4 KiB) of the block, filled once with values between 0.25 and 1 of either sign;
//             64 sums per thread; a result is stored only where it has a value that it never takes
// requires    sm_90a (checked by peak_kernels)
// measured    `peaks` of every result file (wgmma)
template <MathMode kMath>
__global__ void __launch_bounds__(kThreads, 2)
    peak_wgmma_kernel(float* __restrict__ sink) {  // [1], never written
  using namespace hopper;
  constexpr int kWords = (kRows + kColumns) * kDepthBytes / 4;
  __shared__ __align__(128) uint32_t operands[kWords];
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kThreads) {
    const uint32_t place = static_cast<uint32_t>(i) * 37 % 32;
    operands[i] =
        (kMath == MathMode::kTf32 ? 0x3e800000u + (place << 18) : 0x34003400u + place * 0x00200020u) |
        (place % 2 == 0 ? 0u : 0x80008000u);
  }
  fence_stores_for_wgmma();
  __syncthreads();
  const uint32_t a_address = shared_address(operands), b_address = a_address + kRows * kDepthBytes;
  const uint64_t a = operand_descriptor(a_address, kRows * 16),
                 b = operand_descriptor(b_address, kColumns * 16);
  float sums[64] = {};
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    wgmma_hold(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kGroup; ++i) wgmma<kMath>(sums, a, b, true);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_hold(sums);
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) total += sums[i];
  if (total == -1.0f) *sink = total;
}

}  // namespace

double launch_wgmma_peak(Stream& stream, MathMode math, int blocks, float* sink) {
  const auto native = static_cast<cudaStream_t>(stream.native_handle());
  if (math == MathMode::kTf32) {
    peak_wgmma_kernel<MathMode::kTf32><<<blocks, kThreads, 0, native>>>(sink);
  } else {
    peak_wgmma_kernel<MathMode::kFp16><<<blocks, kThreads, 0, native>>>(sink);
  }
  LENSLET_CUDA_CHECK_LAUNCH("peak_wgmma_kernel");
  const double product = 2.0 * kRows * kColumns * (kDepthBytes / (math == MathMode::kTf32 ? 4 : 2));
  return product * kGroup * kRounds * (kThreads / 128) * blocks;
}

}  // namespace lenslet
