// Measures the rate of Hopper's wgmma. Compiled for sm_90a only.
#include "apps/common/ceilings/ceiling_kernels.h"
#include "apps/common/ceilings/peak_values.cuh"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/wgmma.cuh"

namespace lenslet {
namespace {

constexpr int kThreads = 256;  // two warpgroups: one issues while the other waits
constexpr int kRows = 64, kColumns = 128, kDepthBytes = 32;  // the tile of one wgmma
constexpr int kSums = kRows * kColumns / 128;                // of a thread: 128 threads share a tile
constexpr int kPieceBytes = 16;  // of a row of an operand: pieces of all rows lie one after the other
constexpr int kGroup = 8, kRounds = 1024;  // instructions between two waits, and the number of waits

// computes    d [64 x 128] += a [64 x 32 bytes] * b [32 bytes x 128] a warpgroup, kGroup * kRounds times
// work split  grid = any number of blocks of two warpgroups, all alike
// memory      shared: a (2 KiB) and b (4 KiB) of the block, filled once by peak_values(); 64 sums per thread;
//             the result is stored only if it is -1, which it never is, so that the compiler keeps the loop
// requires    sm_90a (checked by peak_kernels)
// measured    `peaks` of every result file (wgmma)
template <MathMode kMath>
__global__ void __launch_bounds__(kThreads, 2)
    peak_wgmma_kernel(float* __restrict__ sink) {  // [1], never written
  using namespace hopper;
  constexpr int kWords = (kRows + kColumns) * kDepthBytes / 4;
  __shared__ __align__(128) uint32_t operands[kWords];
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kThreads) {
    constexpr uint32_t kScatter = 37;  // odd, so that 32 neighbours have 32 places
    const uint32_t place = static_cast<uint32_t>(i) * kScatter % 32;
    operands[i] = peak_values<kMath>(place) | (place % 2 == 0 ? 0u : kPairSigns);
  }
  fence_async_proxy();
  __syncthreads();
  const uint32_t a_address = shared_address(operands), b_address = a_address + kRows * kDepthBytes;
  const uint64_t a = operand_descriptor(a_address, kRows * kPieceBytes),
                 b = operand_descriptor(b_address, kColumns * kPieceBytes);
  float sums[kSums] = {};
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
  for (int i = 0; i < kSums; ++i) total += sums[i];
  if (total == -1.0f) *sink = total;
}

}  // namespace

double launch_wgmma_peak(Stream& stream, MathMode math, int blocks, float* sink) {
  const auto kernel =
      math == MathMode::kTf32 ? peak_wgmma_kernel<MathMode::kTf32> : peak_wgmma_kernel<MathMode::kFp16>;
  launch("peak_wgmma_kernel", kernel, blocks, kThreads, 0, native(stream), sink);
  const double product = 2.0 * kRows * kColumns * (kDepthBytes / (math == MathMode::kTf32 ? 4 : 2));
  return product * kGroup * kRounds * (kThreads / 128) * blocks;
}

}  // namespace lenslet
