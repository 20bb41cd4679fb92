// The convolutions of the backend `medium`, by Winograd's F(4, 5) along the rows (winograd.h), direct down the
// columns. Internal: includes CUDA.
//
// Few images must keep 16 warps busy, so a thread has a smaller part than in the backend `fp32`: of conv1 one to three
// filters of a tile, of conv2 one of the eight points of two or four filters. The eight lanes with the points of the
// same outputs exchange their sums by shuffles, after which each transforms an eighth of the outputs.
#pragma once

#include <type_traits>

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
  const int warps = (Tile::kTiles * images + 31) / 32, first = warp / warps * filters;
  const int task = warp % warps * 32 + lane;
  if (first >= 6 || task >= Tile::kTiles * images) return;
  const int image = task / Tile::kTiles, row = task % Tile::kTiles / Tile::kTileColumns,
            column = task % Tile::kTileColumns;
  fused_lenet5::fp32_conv1<Tile::kMap>(
      constants, pixels + image * fused_lenet5::kPixels + row * Tile::kTilePixelRow + column * 4,
      maps + image * Tile::kImage + row * Tile::kTilePooledRow + column * 2, first, filters);
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

/// The products of a point: 8 rows of 2 or 4 filters. columns: V of it, filters: U of it.
template <int kFilters>
__device__ __forceinline__ void conv2_point(const float* columns, const float* filters,
                                            float (&sums)[8][kFilters]) {
  using Filters = std::conditional_t<kFilters == 4, float4, float2>;
#pragma unroll
  for (int i = 0; i < 8 * kFilters; ++i) sums[i / kFilters][i % kFilters] = 0;
#pragma unroll 2
  for (int c = 0; c < 6; ++c) {
    float x[12], w[5 * kFilters];
#pragma unroll
    for (int i = 0; i < 12; i += 4)
      *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(columns + c * Tile::kMap + i);
#pragma unroll
    for (int r = 0; r < 5; ++r) {
      *reinterpret_cast<Filters*>(w + r * kFilters) =
          *reinterpret_cast<const Filters*>(filters + c * Tile::kChannelFilters + r * 4);
    }
#pragma unroll
    for (int r = 0; r < 5; ++r) {
#pragma unroll
      for (int f = 0; f < kFilters; ++f) {
#pragma unroll
        for (int y = 0; y < 8; ++y) sums[y][f] = fmaf(x[y + r], w[r * kFilters + f], sums[y][f]);
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

/// From the sums of one point to ReLU and pooling of an eighth of the outputs: half of the filters, two columns of a
/// pooled row. bias: of these filters.
template <int kFilters>
__device__ __forceinline__ void conv2_outputs(float (&sums)[8][kFilters], const float* bias,
                                              float (&pooled)[kFilters / 2][2]) {
  constexpr int kHalf = kFilters / 2;
#pragma unroll
  for (int i = 0; i < 8 * kHalf; ++i)
    exchange<4>(sums[i / kHalf][i % kHalf], sums[i / kHalf][i % kHalf + kHalf]);
#pragma unroll
  for (int i = 0; i < 4 * kFilters; ++i)
    exchange<2>(sums[i / kFilters][i % kFilters], sums[i / kFilters + 4][i % kFilters]);
#pragma unroll
  for (int i = 0; i < 4 * kFilters; ++i) {
    const int row = i / (2 * kFilters) * 4 + i / kFilters % 2;
    exchange<1>(sums[row][i % kFilters], sums[row + 2][i % kFilters]);
  }
#pragma unroll
  for (int f = 0; f < kHalf; ++f) {
    float y[2][4];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const auto product = [&](int point) {
        return sums[(point & 2) * 2 + (point & 1) * 2 + row][f + (point & 4) / 4 * kHalf];
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

/// conv2, ReLU and pooling of `images` images: V -> h2 in place. A lane takes a point of kFilters filters; 8 / kFilters
/// warps share an image. Bits are the same for 2 and 4 filters.
template <int kFilters>
__device__ __forceinline__ void conv2_stage(float* maps, const float* parameters, int images, int warp,
                                            int lane) {
  constexpr int kSharers = 8 / kFilters, kHalf = kFilters / 2;
  const int image = warp / kSharers, point = lane % 8, half = lane / 8 % 2;
  const int first = (warp % kSharers * 2 + lane / 16) * kFilters;  // of the filters that it multiplies
  const int own = first + (lane & 4) / 4 * kHalf;                  // of those whose outputs it then has
  const bool convolves = image < images;
  float pooled[kHalf][2] = {};
  if (convolves) {
    float sums[8][kFilters];
    conv2_point(maps + image * Tile::kImage + point * Tile::kPoint + half * 12,
                parameters + first / 4 * Tile::kQuadFilters + point * Tile::kPointFilters + first % 4, sums);
    conv2_outputs(sums, parameters + Tile::kBias2 + own, pooled);
  }
  __syncthreads();  // h2 overwrites V
  if (convolves) {
    float* const h2 = maps + image * Tile::kImage + Tile::kH2 + own * 16 + (lane & 3) * 4 + half * 2;
#pragma unroll
    for (int f = 0; f < kHalf; ++f) *reinterpret_cast<float2*>(h2 + f * 16) = {pooled[f][0], pooled[f][1]};
  }
}

}  // namespace lenslet::medium_lenet5
