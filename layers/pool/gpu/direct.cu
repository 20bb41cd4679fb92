// Pooling on the GPU, x [planes, H, W], y [planes, P, Q]:
//   y[c, p, q] = max or mean over r, s of x[c, p*stride_h - pad_h + r*dilation_h, q*stride_w - pad_w + s*dilation_w]
//
// Bound by memory bandwidth: each input value is read once and each output is written once, with wide, coalesced
// accesses. The 2x2 window with stride 2 and the window that is a whole plane have kernels of their own; every other
// window uses the general one.
#include <algorithm>

#include "framework/base/alignment.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/keep_nan.h"
#include "layers/pool/pool_backend.h"

namespace lenslet {
namespace {

// Threads of a block. Chosen by hand: warps share nothing, and blocks of 256 fill a multiprocessor of 1,024, 1,536 or
// 2,048 threads.
constexpr int kThreads = 256;

template <bool kMax>
__device__ __forceinline__ float pool4(float a, float b, float c, float d) {
  if (kMax) return larger(larger(a, b), larger(c, d));
  return ((a + b) + (c + d)) * 0.25f;
}

// computes    2x2 pooling with stride 2 of [planes, H, W], W a multiple of 4
// work split  a thread computes 2 neighbouring outputs of one row from a float4 of each of 2 input rows
// memory      no shared memory; a thread reads 32 bytes (marked as read once, so that the outputs stay in L2) and
//             writes 8
// requires    x aligned to 16 bytes, y to 8, fewer than 2^31 threads (pool() checks)
// measured    H200, hot: 256 x 16 planes of 56 x 56: 16.6 us
//             (docs/results/2026-11-28-h200/layers.json)
template <bool kMax, typename Index>
__global__ void __launch_bounds__(kThreads)
    pool_direct_2x2_kernel(const float* __restrict__ x,  // [planes, h, w]
                           float* __restrict__ y,        // [planes, h / 2, w / 2]
                           Index h, Index w, Index p_count, Index quads, Index total) {
  const Index t = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;  // (row of y, quad of x) flattened
  if (t >= total) return;
  const Index row = t / quads, quad = t - row * quads;
  const Index plane = row / p_count, p = row - plane * p_count;
  const float* top = x + static_cast<size_t>(plane * h + 2 * p) * w + 4 * quad;
  const float4 a = __ldcs(reinterpret_cast<const float4*>(top));
  const float4 b = __ldcs(reinterpret_cast<const float4*>(top + w));
  reinterpret_cast<float2*>(y)[t] =
      make_float2(pool4<kMax>(a.x, a.y, b.x, b.y), pool4<kMax>(a.z, a.w, b.z, b.w));
}

// computes    pooling with any window of [planes, H, W]
// work split  a thread computes one output; neighbouring threads take neighbouring q
// memory      no shared memory; overlapping windows share values through L1
// requires    nothing
// measured    H200, hot: 256 x 16 planes of 58 x 58 to 56 x 56: 147.7 us
//             (docs/results/2026-11-28-h200/layers.json)
template <PoolKind kKind, typename Index>
__global__ void __launch_bounds__(kThreads)
    pool_direct_any_kernel(const float* __restrict__ x,  // [planes, H, W]
                           float* __restrict__ y,        // [planes, P, Q]
                           const Pool2dProblem problem) {
  const Pool2dWindow& v = problem.window;
  const Index h = static_cast<Index>(problem.h), w = static_cast<Index>(problem.w);
  const Index p_count = static_cast<Index>(problem.p), q_count = static_cast<Index>(problem.q);
  const Index total = static_cast<Index>(problem.planes) * p_count * q_count;
  for (Index t = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; t < total;
       t += static_cast<Index>(gridDim.x) * kThreads) {
    const Index row_of_y = t / q_count, q = t - row_of_y * q_count;
    const Index plane = row_of_y / p_count, p = row_of_y - plane * p_count;
    const Index top = p * v.stride_h - v.pad_h, left = q * v.stride_w - v.pad_w;
    const float* image = x + static_cast<int64_t>(plane) * h * w;
    float value = kKind == PoolKind::kMax ? -INFINITY : 0.0f;
    for (int r = 0; r < v.r; ++r) {
      const Index row = top + r * v.dilation_h;
      if (row < 0 || row >= h) continue;
      for (int s = 0; s < v.s; ++s) {
        const Index column = left + s * v.dilation_w;
        if (column < 0 || column >= w) continue;
        const float cell = image[row * w + column];
        value = kKind == PoolKind::kMax ? larger(value, cell) : value + cell;
      }
    }
    if (kKind != PoolKind::kMax) {
      const bool inside = kKind == PoolKind::kAverageInside;
      const int64_t rows = cells_within(top, v.r, v.dilation_h,
                                        {inside ? 0 : -v.pad_h, h + (inside ? 0 : v.pad_h + v.more_pad_h)});
      const int64_t columns = cells_within(
          left, v.s, v.dilation_w, {inside ? 0 : -v.pad_w, w + (inside ? 0 : v.pad_w + v.more_pad_w)});
      value /= static_cast<float>(rows * columns);
    }
    y[t] = value;
  }
}

// computes    the maximum or mean of each plane of [planes, values]
// work split  a warp computes one output; neighbouring threads read neighbouring values
// memory      no shared memory; partial results are combined by shuffles
// requires    nothing
// measured    H200, hot: 256 x 32 planes of 6 x 6: 4.9 us
//             (docs/results/2026-11-28-h200/layers.json)
template <bool kMax>
__global__ void __launch_bounds__(kThreads)
    pool_direct_plane_kernel(const float* __restrict__ x,  // [planes, values]
                             float* __restrict__ y,        // [planes]
                             int64_t planes, int64_t values) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * (kThreads / GpuLimits::kWarp);
  for (int64_t plane =
           static_cast<int64_t>(blockIdx.x) * (kThreads / GpuLimits::kWarp) + threadIdx.x / GpuLimits::kWarp;
       plane < planes; plane += step) {
    const float* first = x + plane * values;
    float value = kMax ? -INFINITY : 0.0f;
    for (int64_t i = threadIdx.x % GpuLimits::kWarp; i < values; i += GpuLimits::kWarp)
      value = kMax ? larger(value, first[i]) : value + first[i];
    for (int offset = GpuLimits::kWarp / 2; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, value, offset);
      value = kMax ? larger(value, other) : value + other;
    }
    if (threadIdx.x % GpuLimits::kWarp == 0) y[plane] = kMax ? value : value / static_cast<float>(values);
  }
}

void pool_direct_plane(const Pool2dProblem& problem, const float* x, float* y, cudaStream_t stream) {
  const int64_t values = problem.h * problem.w;
  const auto kernel =
      problem.kind == PoolKind::kMax ? pool_direct_plane_kernel<true> : pool_direct_plane_kernel<false>;
  launch("pool_direct_plane_kernel", kernel, grid_blocks(problem.planes, kThreads / GpuLimits::kWarp),
         kThreads, 0, stream, x, y, problem.planes, values);
}

template <typename Index>
void pool_direct_2x2(const Pool2dProblem& problem, const float* x, float* y, cudaStream_t stream) {
  const auto h = static_cast<Index>(problem.h), w = static_cast<Index>(problem.w);
  const auto p = static_cast<Index>(problem.p), quads = w / 4;
  const int64_t total = problem.planes * problem.p * (problem.w / 4);
  const auto kernel = problem.kind == PoolKind::kMax ? pool_direct_2x2_kernel<true, Index>
                                                     : pool_direct_2x2_kernel<false, Index>;
  launch("pool_direct_2x2_kernel", kernel, grid_blocks(total, kThreads), kThreads, 0, stream, x, y, h, w, p,
         quads, static_cast<Index>(total));
}

template <PoolKind kKind, typename Index>
void pool_direct_any(const Pool2dProblem& problem, const float* x, float* y, cudaStream_t stream) {
  const int64_t outputs = problem.planes * problem.p * problem.q;
  launch("pool_direct_any_kernel", pool_direct_any_kernel<kKind, Index>, grid_blocks(outputs, kThreads),
         kThreads, 0, stream, x, y, problem);
}

template <typename Index>
void pool_direct_any_by_kind(const Pool2dProblem& problem, const float* x, float* y, cudaStream_t stream) {
  switch (problem.kind) {
    case PoolKind::kMax:
      return pool_direct_any<PoolKind::kMax, Index>(problem, x, y, stream);
    case PoolKind::kAverage:
      return pool_direct_any<PoolKind::kAverage, Index>(problem, x, y, stream);
    case PoolKind::kAverageInside:
      return pool_direct_any<PoolKind::kAverageInside, Index>(problem, x, y, stream);
  }
}

void pool(const Pool2dProblem& problem, const float* x, float* y, Stream& stream) {
  const Pool2dWindow& v = problem.window;
  const int64_t outputs = problem.planes * problem.p * problem.q;
  if (outputs == 0) return;
  if (v.is_halving() && problem.w % 4 == 0 && is_aligned(x, 16) && is_aligned(y, 8) &&
      outputs / 2 / kThreads < GpuLimits::kGridX) {
    // Divisions dominate the instructions here, and 32-bit ones are several times cheaper.
    const bool narrow = problem.planes * problem.h * problem.w < INT32_MAX;
    narrow ? pool_direct_2x2<uint32_t>(problem, x, y, native(stream))
           : pool_direct_2x2<uint64_t>(problem, x, y, native(stream));
    return;
  }
  if (problem.is_whole()) return pool_direct_plane(problem, x, y, native(stream));
  // Divisions dominate here too. The last step of the grid may reach past the outputs.
  const bool narrow = std::max(problem.planes * problem.h * problem.w, outputs) < INT32_MAX / 2;
  narrow ? pool_direct_any_by_kind<int32_t>(problem, x, y, native(stream))
         : pool_direct_any_by_kind<int64_t>(problem, x, y, native(stream));
}

}  // namespace

LENSLET_BACKEND(pool, gpu_direct, PoolBackend{&pool})

}  // namespace lenslet
