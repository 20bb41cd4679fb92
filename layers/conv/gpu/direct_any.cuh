// Direct convolution of any shape: every kernel size, stride, padding, dilation and number of groups.
#pragma once

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

struct DirectAnyShape {
  int c, h, w, k, p, q, r, s;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int group_channels, group_filters;  // C/G and K/G
  int pixels;                         // N * P * Q
  int filter_tiles;                   // of one group: ceil(K/G / kOut)
  FastDivide by_q, by_p, by_filter_tiles, by_all_filter_tiles;
  bool relu;
};

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding, dilation and groups, bias,
//             optional ReLU
// work split  thread = one output position x kOut channels of one group; blocks of one position range and
//             neighbouring channels are launched side by side, so that they share the input in L2
// memory      no shared memory: inputs through L1, coalesced along q; weights are the same address for a
//             whole warp
// requires    N*P*Q < 2^31, grid.x < 2^31 (checked by direct.cu)
// measured    not on its own: it serves the shapes that neither direct_rows nor direct_tile takes, none of
//             which is in docs/results/2026-11-21-h200/conv_kernels.json
template <int kOut>
__global__ void __launch_bounds__(128) conv_direct_any_kernel(
    const DirectAnyShape shape, const float* __restrict__ x,
    const float* __restrict__ filters,  // [G, filter_tiles, C/G, R, S, kOut], zero padded
    const float* __restrict__ bias,     // [G, filter_tiles, kOut]
    float* __restrict__ y) {
  int tile_of_all, tile, q, p;
  const int pixel_block = shape.by_all_filter_tiles.divide(static_cast<int>(blockIdx.x), tile_of_all);
  const int pixel = pixel_block * 128 + static_cast<int>(threadIdx.x);
  if (pixel >= shape.pixels) return;
  const int group = shape.by_filter_tiles.divide(tile_of_all, tile);
  const int n = shape.by_p.divide(shape.by_q.divide(pixel, q), p);
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q * shape.stride_w - shape.pad_w;

  float sums[kOut];
#pragma unroll
  for (int k = 0; k < kOut; ++k) sums[k] = __ldg(bias + static_cast<int64_t>(tile_of_all) * kOut + k);
  const float* weights =
      filters + static_cast<int64_t>(tile_of_all) * shape.group_channels * shape.r * shape.s * kOut;
  const float* plane =
      x + (static_cast<int64_t>(n) * shape.c + group * shape.group_channels) * shape.h * shape.w;  // [H, W]
  for (int c = 0; c < shape.group_channels; ++c, plane += static_cast<int64_t>(shape.h) * shape.w) {
    for (int r = 0; r < shape.r; ++r) {
      const int h = h0 + r * shape.dilation_h;
      const bool row_inside = h >= 0 && h < shape.h;
      for (int s = 0; s < shape.s; ++s, weights += kOut) {
        const int w = w0 + s * shape.dilation_w;
        const float value =
            row_inside && w >= 0 && w < shape.w ? __ldg(plane + static_cast<int64_t>(h) * shape.w + w) : 0.0f;
#pragma unroll
        for (int k = 0; k < kOut; ++k) sums[k] = fmaf(__ldg(weights + k), value, sums[k]);
      }
    }
  }

#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const int filter = tile * kOut + k;
    if (filter >= shape.group_filters) continue;
    const int64_t plane_index = static_cast<int64_t>(n) * shape.k + group * shape.group_filters + filter;
    y[(plane_index * shape.p + p) * shape.q + q] = relu_if(shape.relu, sums[k]);
  }
}

}  // namespace lenslet
