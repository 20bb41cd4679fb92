// The convolutions of the backend `medium`, by Winograd's F(4, 5) along the rows (winograd.h), direct down the
// columns. Internal: includes CUDA.
//
// Few images must keep 16 warps busy, so a thread has a smaller part than in the backend `fp32`: of conv1 one to three
// filters of a tile, of conv2 one of the eight points. The eight lanes with the points of the same outputs exchange
// their sums by shuffles, after which each transforms an eighth of the outputs.
#pragma once

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/fp32/conv1.cuh"
#include "models/fused_lenet5/gpu/medium/tile.h"

namespace lenslet::medium_lenet5 {

using fused_lenet5::WinogradF45;

/// conv1, ReLU and pooling of `images` images: pixels -> h1. A warp takes the same filters of up to 32 tiles of 6 x 4
/// outputs, 24 of them an image.
template <typename Pixel>
__device__ __forceinline__ void conv1_stage(const fused_lenet5::Fp32Constants& constants, const Pixel* pixels,
                                            float* maps, int images, int warp, int lane) {
  // As few filters per warp as let 16 warps take all: a tile's pixels are transformed once for all of them.
  const int filters = images <= 2 ? 1 : images <= 6 ? 2 : 3;
  const int warps = (24 * images + 31) / 32, first = warp / warps * filters;
  const int task = warp % warps * 32 + lane;
  if (first >= 6 || task >= 24 * images) return;
  const int image = task / 24, row = task % 24 / 6, column = task % 6;
  fused_lenet5::fp32_conv1<Tile::kMap>(constants,
                                       pixels + image * fused_lenet5::kPixels + row * (6 * 28) + column * 4,
                                       maps + image * Tile::kImage + row * 36 + column * 2, first, filters);
}

/// h1 -> V in place: a warp takes a map, 24 lanes its [12 rows] x [2 halves of eight inputs].
__device__ __forceinline__ void transform_stage(float* maps, int images, int warp, int lane) {
#pragma unroll 1
  for (int map = warp; map < 6 * images; map += Tile::kWarps) {
    float* const at = maps + map * Tile::kMap;
    float d[8], v[8];
    if (lane < 24) {
      const float* const row = at + lane % 12 * 12 + lane / 12 * 4;
      *reinterpret_cast<float4*>(d) = *reinterpret_cast<const float4*>(row);
      *reinterpret_cast<float4*>(d + 4) = *reinterpret_cast<const float4*>(row + 4);
    }
    __syncwarp();
    if (lane < 24) {
      WinogradF45::input(d, v);
#pragma unroll
      for (int point = 0; point < 8; ++point) at[point * Tile::kPoint + lane] = v[point];
    }
  }
}

/// The products of a point: 8 rows of 4 filters. columns: V of it, filters: U of it.
__device__ __forceinline__ void conv2_point(const float* columns, const float* filters, float (&sums)[8][4]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) sums[i / 4][i % 4] = 0;
#pragma unroll 2
  for (int c = 0; c < 6; ++c) {
    float x[12], w[20];
#pragma unroll
    for (int i = 0; i < 12; i += 4)
      *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(columns + c * Tile::kMap + i);
#pragma unroll
    for (int i = 0; i < 20; i += 4) {
      *reinterpret_cast<float4*>(w + i) =
          *reinterpret_cast<const float4*>(filters + c * Tile::kChannelFilters + i);
    }
#pragma unroll
    for (int r = 0; r < 5; ++r) {
#pragma unroll
      for (int f = 0; f < 4; ++f) {
#pragma unroll
        for (int y = 0; y < 8; ++y) sums[y][f] = fmaf(x[y + r], w[r * 4 + f], sums[y][f]);
      }
    }
  }
}

/// Exchanges values between lanes that differ in kBit. Each lane has `low` for the lane without kBit and `high` for the
/// one with it; afterwards both are the lane's own, from the lane without kBit and from the one with it.
template <int kBit>
__device__ __forceinline__ void exchange(float& low, float& high) {
  const bool upper = (threadIdx.x & kBit) != 0;
  const float theirs = __shfl_xor_sync(kAllLanes, upper ? low : high, kBit);
  low = upper ? theirs : low;
  high = upper ? high : theirs;
}

/// From the sums of one point to ReLU and pooling of an eighth of the outputs: two filters, two columns of a pooled
/// row. bias: of these filters.
__device__ __forceinline__ void conv2_outputs(float (&sums)[8][4], const float* bias, float (&pooled)[2][2]) {
#pragma unroll
  for (int y = 0; y < 8; ++y) {
    exchange<4>(sums[y][0], sums[y][2]);
    exchange<4>(sums[y][1], sums[y][3]);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) exchange<2>(sums[i / 4][i % 4], sums[i / 4 + 4][i % 4]);
#pragma unroll
  for (int i = 0; i < 16; ++i)
    exchange<1>(sums[i / 8 * 4 + i / 4 % 2][i % 4], sums[i / 8 * 4 + i / 4 % 2 + 2][i % 4]);
#pragma unroll
  for (int f = 0; f < 2; ++f) {
    float y[2][4];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const auto product = [&](int point) {
        return sums[(point & 2) * 2 + (point & 1) * 2 + row][f + (point & 4) / 2];
      };
#pragma unroll
      for (int column = 0; column < 4; ++column) y[row][column] = bias[f];
#pragma unroll
      for (int pair = 0; pair < 3; ++pair) {
        WinogradF45::add_pair(product(2 * pair), product(2 * pair + 1), WinogradF45::power(pair, 1),
                              WinogradF45::power(pair, 2), WinogradF45::power(pair, 3), y[row]);
      }
      y[row][0] += product(6);  // zero
      y[row][3] += product(7);  // infinity
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      pooled[f][i] = fused_lenet5::relu_pool_bits(y[0][2 * i], y[0][2 * i + 1], y[1][2 * i], y[1][2 * i + 1]);
    }
  }
}

}  // namespace lenslet::medium_lenet5
