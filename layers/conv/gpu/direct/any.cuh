// Direct convolution of any shape: every filter size, stride, padding, dilation and number of groups. With a fused 2x2
// max pooling a thread keeps the four sums of a window in registers. For any other window a block keeps the sums of its
// windows in shared memory. Formula: ../direct.cu.
#pragma once

#include "layers/conv/conv_problem.h"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/pool/pool_window.h"

namespace lenslet {

struct DirectAnyShape {
  int c, h, w, k, p, q, r, s;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int group_channels, group_filters;  // C/G and K/G
  int pixels;                         // N * P * Q, of the plane that is stored
  int filter_tiles;                   // of one group: ceil(K/G / kOut)
  FastDivide by_q, by_p, by_filter_tiles, by_all_filter_tiles;
  bool relu;
};

constexpr int kDirectAnyThreads = 128;

/// How max pooling cuts the output plane: a block takes tile_rows x tile_columns windows of kOut channels, and computes
/// the region of sums that they cover.
struct DirectAnyPool {
  Pool2dWindow window;
  int p, q;                     // pooled plane
  int tile_rows, tile_columns;  // windows of a block
  int region_columns, region;   // sums across, sums in all
  FastDivide by_column_tiles, by_row_tiles, by_region_columns, by_tile_columns, by_tile;
};

/// The weights of kOut filters for one tap, contiguous.
template <int kOut>
__device__ __forceinline__ void load_filters(const float* __restrict__ filters, float (&weights)[kOut]) {
  static_assert(kOut == 1 || kOut == 4, "read as float or float4");
  if constexpr (kOut == 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(filters));
    weights[0] = four.x;
    weights[1] = four.y;
    weights[2] = four.z;
    weights[3] = four.w;
  } else {
    weights[0] = __ldg(filters);
  }
}

/// Adds to `sums` the products of kOut filters for kCells x kCells outputs, the first at (p, q). `x` and `filters`
/// point to the group's first channel.
template <int kOut, int kCells, TensorLayout kLayout>
__device__ __forceinline__ void sum_direct_any(const DirectAnyShape& shape, const float* __restrict__ x,
                                               const float* __restrict__ filters, int p, int q,
                                               float (&sums)[kCells][kCells][kOut]) {
  constexpr bool kChannelsLast = kLayout == TensorLayout::kNhwc;
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q * shape.stride_w - shape.pad_w;
  const int column = kChannelsLast ? shape.c : 1;  // from one column to the next
  const int64_t channel = kChannelsLast ? 1 : static_cast<int64_t>(shape.h) * shape.w;
  for (int c = 0; c < shape.group_channels; ++c, x += channel) {
    for (int r = 0; r < shape.r; ++r) {
      for (int s = 0; s < shape.s; ++s, filters += kOut) {
        float weights[kOut];
        load_filters(filters, weights);
#pragma unroll
        for (int i = 0; i < kCells; ++i) {
          const int h = h0 + i * shape.stride_h + r * shape.dilation_h;
#pragma unroll
          for (int j = 0; j < kCells; ++j) {
            const int w = w0 + j * shape.stride_w + s * shape.dilation_w;
            const bool inside = h >= 0 && h < shape.h && w >= 0 && w < shape.w;
            const float value = inside ? __ldg(x + (static_cast<int64_t>(h) * shape.w + w) * column) : 0.0f;
#pragma unroll
            for (int k = 0; k < kOut; ++k) sums[i][j][k] = fmaf(weights[k], value, sums[i][j][k]);
          }
        }
      }
    }
  }
}

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding, dilation and groups, bias,
//             optional ReLU; with kCells = 2 the maxima of 2x2 windows of that, stride 2
// work split  thread = one stored position x kOut channels of one group; blocks of one position range and
//             neighbouring channels are launched side by side, so that they share the input in L2
// memory      no shared memory: inputs through L1, coalesced along q; weights are the same address for a
//             whole warp
// requires    N*P*Q < 2^31, grid.x < 2^31 (checked by direct.cu)
// measured    H100, hot: 8 images, 128 channels, 56 x 56, 128 filters 1x1: 233.9 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int kOut, int kCells>
__global__ void __launch_bounds__(kDirectAnyThreads) conv_direct_any_kernel(
    const DirectAnyShape shape,
    const float* __restrict__ x,        // [N, C, H, W]
    const float* __restrict__ filters,  // [G, filter_tiles, C/G, R, S, kOut], zero padded
    const float* __restrict__ bias,     // [G, filter_tiles, kOut]
    float* __restrict__ y) {            // [N, K, P, Q]
  static_assert(kCells == 1 || kCells == 2, "single outputs or 2x2 windows");
  int tile_of_all, tile, q, p;
  const int pixel_block = shape.by_all_filter_tiles.divide(static_cast<int>(blockIdx.x), tile_of_all);
  const int pixel = pixel_block * kDirectAnyThreads + static_cast<int>(threadIdx.x);
  if (pixel >= shape.pixels) return;
  const int group = shape.by_filter_tiles.divide(tile_of_all, tile);
  const int n = shape.by_p.divide(shape.by_q.divide(pixel, q), p);

  float sums[kCells][kCells][kOut];
#pragma unroll
  for (int i = 0; i < kCells * kCells * kOut; ++i) {
    const int k = i % kOut;
    sums[i / kOut / kCells][i / kOut % kCells][k] =
        __ldg(bias + static_cast<int64_t>(tile_of_all) * kOut + k);
  }
  sum_direct_any<kOut, kCells, TensorLayout::kNchw>(
      shape, x + (static_cast<int64_t>(n) * shape.c + group * shape.group_channels) * shape.h * shape.w,
      filters + static_cast<int64_t>(tile_of_all) * shape.group_channels * shape.r * shape.s * kOut,
      p * kCells, q * kCells, sums);

  const float floor = output_floor(shape.relu);
#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const int filter = tile * kOut + k;
    if (filter >= shape.group_filters) continue;
    float out = relu_if(shape.relu, sums[0][0][k]);
    if constexpr (kCells == 2) {
      const float top[2] = {sums[0][0][k], sums[0][1][k]}, bottom[2] = {sums[1][0][k], sums[1][1][k]};
      out = max_of_2x2(floor, top, bottom, 0);
    }
    const int64_t plane_index = static_cast<int64_t>(n) * shape.k + group * shape.group_filters + filter;
    y[(plane_index * shape.p + p) * shape.q + q] = out;
  }
}

// computes    maxima over windows of y, y as conv_direct_any_kernel computes it; x and the result in order kLayout
// work split  block = tile_rows x tile_columns windows of kOut channels of one image; thread i = sums i, i + 128, ...;
//             then windows i, i + 128, ...
// memory      shared: the region of sums [kOut, region] that the windows cover, -infinity outside the plane; sums where
//             windows of two blocks overlap are computed by both
// requires    the region fits into the shared memory, grid.x < 2^31 (checked by direct/any_launch.cuh)
// measured    H200, hot: 256 images, 16 channels, 28 x 28, 32 filters 3x3, stride 2, pooled 3x3 by 2: 114.4 us
//             (docs/results/2026-11-28-h200/layers-tune.json)
template <int kOut, TensorLayout kLayout>
__global__ void __launch_bounds__(kDirectAnyThreads) conv_direct_any_pool_kernel(
    const DirectAnyShape shape, const DirectAnyPool pool,
    const float* __restrict__ x,        // [N, C, H, W] or [N, H, W, C]
    const float* __restrict__ filters,  // [G, filter_tiles, C/G, R, S, kOut], zero padded
    const float* __restrict__ bias,     // [G, filter_tiles, kOut]
    float* __restrict__ y) {            // [N, K, pool.p, pool.q] or [N, pool.p, pool.q, K]
  extern __shared__ float direct_any_sums[];
  constexpr bool kChannelsLast = kLayout == TensorLayout::kNhwc;
  int tile_of_all, tile, column_tile, row_tile;
  const int plane_tile = shape.by_all_filter_tiles.divide(static_cast<int>(blockIdx.x), tile_of_all);
  const int group = shape.by_filter_tiles.divide(tile_of_all, tile);
  const int n = pool.by_row_tiles.divide(pool.by_column_tiles.divide(plane_tile, column_tile), row_tile);
  const int first_row = row_tile * pool.tile_rows, first_column = column_tile * pool.tile_columns;
  const Pool2dWindow& window = pool.window;
  const int p0 = first_row * window.stride_h - window.pad_h,
            q0 = first_column * window.stride_w - window.pad_w;
  const int64_t plane = static_cast<int64_t>(shape.h) * shape.w;
  const float* image = x + n * shape.c * plane + group * shape.group_channels * (kChannelsLast ? 1 : plane);
  const float* weights =
      filters + static_cast<int64_t>(tile_of_all) * shape.group_channels * shape.r * shape.s * kOut;

  for (int i = threadIdx.x; i < pool.region; i += kDirectAnyThreads) {
    int column;
    const int p = p0 + pool.by_region_columns.divide(i, column), q = q0 + column;
    const bool inside = p >= 0 && p < shape.p && q >= 0 && q < shape.q;
    float sums[1][1][kOut];
#pragma unroll
    for (int k = 0; k < kOut; ++k) {
      sums[0][0][k] = inside ? __ldg(bias + static_cast<int64_t>(tile_of_all) * kOut + k) : -INFINITY;
    }
    if (inside) sum_direct_any<kOut, 1, kLayout>(shape, image, weights, p, q, sums);
#pragma unroll
    for (int k = 0; k < kOut; ++k) direct_any_sums[k * pool.region + i] = sums[0][0][k];
  }
  __syncthreads();

  const int windows = pool.tile_rows * pool.tile_columns;
  for (int i = threadIdx.x; i < windows * kOut; i += kDirectAnyThreads) {
    int place, column;
    const int k = pool.by_tile.divide(i, place);
    const int row = pool.by_tile_columns.divide(place, column);
    const int filter = tile * kOut + k, p = first_row + row, q = first_column + column;
    if (filter >= shape.group_filters || p >= pool.p || q >= pool.q) continue;
    const float* cells = direct_any_sums + k * pool.region + row * window.stride_h * pool.region_columns +
                         column * window.stride_w;
    float largest = output_floor(shape.relu);
    for (int r = 0; r < window.r; ++r, cells += pool.region_columns) {
      for (int s = 0; s < window.s; ++s) largest = max_keep_nan(largest, cells[s]);
    }
    const int channel = group * shape.group_filters + filter;
    const int64_t at = kChannelsLast
                           ? ((static_cast<int64_t>(n) * pool.p + p) * pool.q + q) * shape.k + channel
                           : ((static_cast<int64_t>(n) * shape.k + channel) * pool.p + p) * pool.q + q;
    y[at] = largest;
  }
}

}  // namespace lenslet
