// Internal: the first kernel of the backend `fp32`, both convolutions with ReLU and pooling. Its maps stay on the chip.
//
// Both convolutions are Winograd's F(4, 5) along the rows (winograd.h) and direct down the columns:
//   z[k, y, x0 + o] = sum over points t of A_to sum over c, r of U[k, c, r, t] V[c, y + r, x0, t]
// conv1 transforms pixels in registers and computes one filter after another. Its pooled maps are transformed in place
// in shared memory. conv2 computes one point after another; for each a thread reads columns of 12 values. Weights that
// a warp shares are uniform operands from the constant bank (conv1) or from shared memory (conv2, whose 15 KB would
// thrash the cache of the constant bank).
#pragma once

#include <cstdint>

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/fp32/parameters.h"
#include "models/fused_lenet5/gpu/winograd_conv1.cuh"

namespace lenslet::fused_lenet5 {

struct Fp32Conv {
  static constexpr int kImages = 8, kThreads = 128, kWarps = kThreads / 32;
  static constexpr int kMap = 8 * 2 * 12;  // per channel: h1 [12][12], then V [8 points][2 halves][12 rows]
  /// With 4 of padding: the columns of eight images are in different banks.
  static constexpr int kImage = 6 * kMap + 4;
  static constexpr int kSharedBytes = (kImages * kImage + Fp32Conv2::kFloats) * 4;
  static constexpr int kTile = 128;  // images that are contiguous in h2
};

/// Transforms h1 to V in place; called by all threads, which read everything before one of them stores. Sixteen lanes
/// take an image, nine units each: a row of [12 rows] x [2 halves of eight inputs] of a channel. Two channels have 48
/// units, so units 48 apart are in the same place of their channels, and only three addresses are computed.
__device__ __forceinline__ void fp32_transform(float* shared, int warp, int lane) {
  // Images four apart: what their lanes store is in different banks.
  float* const maps = shared + (warp + lane / 16 * Fp32Conv::kWarps) * Fp32Conv::kImage;
  float d[3][3][8];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int unit = lane % 16 + i * 16;
    const float* const from = maps + unit / 24 * Fp32Conv::kMap + unit % 12 * 12 + unit % 24 / 12 * 4;
#pragma unroll
    for (int pair = 0; pair < 3; ++pair) {
      const float* const row = from + pair * 2 * Fp32Conv::kMap;
      *reinterpret_cast<float4*>(d[i][pair]) = *reinterpret_cast<const float4*>(row);
      *reinterpret_cast<float4*>(d[i][pair] + 4) = *reinterpret_cast<const float4*>(row + 4);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int unit = lane % 16 + i * 16;
    float* const to = maps + unit / 24 * Fp32Conv::kMap + unit % 24;
#pragma unroll
    for (int pair = 0; pair < 3; ++pair) {
      float v[8];
      WinogradF45::input(d[i][pair], v);
#pragma unroll
      for (int point = 0; point < 8; ++point) to[pair * 2 * Fp32Conv::kMap + point * 24] = v[point];
    }
  }
}

/// The products of one point for 8 rows and 2 filters. columns: V of this point, weights: U of this pair and point.
__device__ __forceinline__ void fp32_conv2_point(float (&sums)[8][2], const float* columns,
                                                 const float* weights) {
#pragma unroll
  for (int y = 0; y < 8; ++y) sums[y][0] = sums[y][1] = 0;
#pragma unroll 3
  for (int c = 0; c < 6; ++c) {
    float x[12], w[10];
#pragma unroll
    for (int i = 0; i < 12; i += 4) {
      *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(columns + c * Fp32Conv::kMap + i);
    }
    const float* const filter = weights + c * Fp32Conv2::kChannel;
    *reinterpret_cast<float4*>(w) = *reinterpret_cast<const float4*>(filter);
    *reinterpret_cast<float4*>(w + 4) = *reinterpret_cast<const float4*>(filter + 4);
    *reinterpret_cast<float2*>(w + 8) = *reinterpret_cast<const float2*>(filter + 8);
#pragma unroll
    for (int i = 0; i < 10; ++i) {
#pragma unroll
      for (int y = 0; y < 8; ++y) sums[y][i % 2] = fmaf(x[y + i / 2], w[i], sums[y][i % 2]);
    }
  }
}

/// conv2, ReLU and pooling: 8 rows by 4 columns of two filters; stores h2 [2][4 rows][2 columns], kTile apart.
__device__ __forceinline__ void fp32_conv2(const WinogradConstants& constants, int pair, const float* columns,
                                           const float* weights, float* h2) {
  float y[8][2][4];
#pragma unroll
  for (int i = 0; i < 64; ++i) y[i / 8][i / 4 % 2][i % 4] = constants.conv2_bias[pair * 2 + i / 4 % 2];
#pragma unroll 1
  for (int points = 0; points < 4; ++points) {
    float positive[8][2], negative[8][2];
    fp32_conv2_point(positive, columns + points * 48, weights + 2 * points * Fp32Conv2::kPoint);
    fp32_conv2_point(negative, columns + points * 48 + 24, weights + (2 * points + 1) * Fp32Conv2::kPoint);
    if (points < 3) {
      const float* const powers = constants.powers[points];
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        WinogradF45::add_pair(positive[i / 2][i % 2], negative[i / 2][i % 2], powers[0], powers[1], powers[2],
                              y[i / 2][i % 2]);
      }
    } else {  // zero and infinity
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        y[i / 2][i % 2][0] += positive[i / 2][i % 2];
        y[i / 2][i % 2][3] += negative[i / 2][i % 2];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int k = i / 8, row = i / 2 % 4 * 2, column = i % 2 * 2;
    h2[i * Fp32Conv::kTile] = relu_pool_bits(y[row][k][column], y[row][k][column + 1], y[row + 1][k][column],
                                             y[row + 1][k][column + 1]);
  }
}

// computes    h2 = pool(relu(conv2(pool(relu(conv1 images))))), [N / 128][256][128 images], of images [N, 28, 28]; the
//             last image is repeated up to a multiple of eight
// work split  block = 8 images, in a grid-stride loop; conv1: thread = 6 x 4 outputs of 6 or 3 filters; conv2: 8 x 4
//             outputs of 2 filters
// memory      52.6 KB: h1, overwritten by V, of 8 images, and conv2's transformed filters; registers hold 10 x 8
//             transformed pixels, then 64 outputs and 32 sums
// requires    compute capability 8.0, 16-byte aligned images; blocks of kThreads, kSharedBytes (fp32.cu ensures all)
// measured    H200, both kernels together, 10,000 images of bytes, predictions: 111.1 us
//             (docs/results/2026-11-28-h200/bench-batches.json)
template <typename Pixel>
__global__ void __launch_bounds__(Fp32Conv::kThreads, 4)
    fused_lenet5_fp32_conv_kernel(const __grid_constant__ WinogradConstants constants,
                                  const Pixel* __restrict__ images,  // [count, 28, 28]
                                  int count,
                                  const float* __restrict__ conv2,  // [Fp32Conv2::kFloats]
                                  float* __restrict__ h2) {         // [count / 128, 256, 128], rounded up
  extern __shared__ __align__(16) float shared[];
  float* const filters = shared + Fp32Conv::kImages * Fp32Conv::kImage;
  // The shuffle makes the value uniform over a warp for the compiler, so that filters are uniform operands.
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < Fp32Conv2::kFloats / 4; i += Fp32Conv::kThreads)
    copy_async_16(shared_address(filters + i * 4), conv2 + i * 4);
  commit_copies();
  wait_for_copies<0>();  // the barrier follows after h1
  const int groups = (count + Fp32Conv::kImages - 1) / Fp32Conv::kImages;
#pragma unroll 1
  for (int group = blockIdx.x; group < groups; group += gridDim.x) {
    const int first = group * Fp32Conv::kImages;
#pragma unroll 1
    for (int part = 0; part < 2; ++part) {  // 1.5 parts of work per warp
      const int task = (part == 0 ? warp : Fp32Conv::kWarps + warp / 2) * 32 + lane;
      const int column = task % 6, image = task / 6 % Fp32Conv::kImages, row = task / (6 * Fp32Conv::kImages);
      const int source = min(first + image, count - 1);
      winograd_conv1<Fp32Conv::kMap>(constants,
                                     images + int64_t{source} * kPixels + row * (6 * 28) + column * 4,
                                     shared + image * Fp32Conv::kImage + row * 36 + column * 2,
                                     part * (warp % 2) * 3, part == 0 ? 6 : 3);
    }
    __syncthreads();
    fp32_transform(shared, warp, lane);
    __syncthreads();
    const int image = lane % 8, half = lane / 8 % 2, pair = warp * 2 + lane / 16;
    const int target = first + image;
    fp32_conv2(constants, pair, shared + image * Fp32Conv::kImage + half * 12,
               filters + pair * Fp32Conv2::kPair,
               h2 + int64_t{target / Fp32Conv::kTile} * (256 * Fp32Conv::kTile) +
                   (pair * 2 + half) * (16 * Fp32Conv::kTile) + target % Fp32Conv::kTile);
    __syncthreads();
  }
}

}  // namespace lenslet::fused_lenet5
