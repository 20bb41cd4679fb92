// Direct convolution of NHWC tensors of any shape.
//
//   y[n, p, q, k] = b[k] + sum over r, s, c of w[k, c, r, s] * x[n, p*sh - ph + r*dh, q*sw - pw + s*dw, c]
//
// The lanes of a warp compute different filters of the same output position. Filters are packed [G, R, S, C/G, K/G], so
// that the lanes read contiguous weights and store contiguous sums.
#pragma once

#include "framework/tensor/keep_nan.h"
#include "layers/conv/gpu/direct/rows.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

constexpr int kDirectNhwcThreads = 128;
constexpr int kDirectNhwcColumns = 4;  // output columns of a thread

struct DirectNhwcShape {
  int c, h, w, k, p, q, r, s;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int group_channels, group_filters;  // C/G and K/G
  int filter_tiles;                   // of one group: ceil(K/G / kOut)
  int threads;                        // N * P * ceil(Q / kDirectNhwcColumns) * G * filter_tiles
  FastDivide by_all_filter_tiles, by_filter_tiles, by_column_groups, by_p;
  bool relu;
};

// computes    y [N, P, Q, K] of x [N, H, W, C], any filter, stride, padding, dilation and groups, bias, optional ReLU
// work split  thread = 4 neighbouring columns x kOut filters of one group; lanes run along the filters, then along
//             the columns
// memory      no shared memory: the lanes of a position read the same input address; weights and outputs are
//             contiguous; kVector channels are read at once
// requires    C/G a multiple of kVector; threads < 2^31 (checked by direct/nhwc_launch.cuh)
// measured    H100, hot: 8 images, 128 channels, 56 x 56, 128 filters 3x3: 344.4 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int kOut, int kVector>
__global__ void __launch_bounds__(kDirectNhwcThreads) conv_direct_nhwc_kernel(
    const DirectNhwcShape shape,
    const float* __restrict__ x,        // [N, H, W, C]
    const float* __restrict__ filters,  // [G, R, S, C/G, filter_tiles * kOut], zero padded
    const float* __restrict__ bias,     // [G, filter_tiles * kOut]
    float* __restrict__ y) {            // [N, P, Q, K]
  static_assert((kOut == 1 || kOut == 4) && (kVector == 1 || kVector == 4), "read as float or float4");
  constexpr int kColumns = kDirectNhwcColumns;
  const int thread = blockIdx.x * kDirectNhwcThreads + threadIdx.x;
  if (thread >= shape.threads) return;
  int tile_of_all, tile, column_group, p;
  const int position = shape.by_all_filter_tiles.divide(thread, tile_of_all);
  const int group = shape.by_filter_tiles.divide(tile_of_all, tile);
  const int n = shape.by_p.divide(shape.by_column_groups.divide(position, column_group), p);
  const int q0 = column_group * kColumns;
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q0 * shape.stride_w - shape.pad_w;
  const int pitch = shape.filter_tiles * kOut;  // of one tap's filters

  float sums[kColumns][kOut];
#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const float start = __ldg(bias + static_cast<int64_t>(tile_of_all) * kOut + k);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[j][k] = start;
  }
  const int taps = shape.r * shape.s * shape.group_channels;
  const float* group_filters = filters + static_cast<int64_t>(group) * taps * pitch + tile * kOut;
  const float* image =
      x + static_cast<int64_t>(n) * shape.h * shape.w * shape.c + group * shape.group_channels;
  for (int r = 0; r < shape.r; ++r) {
    const int h = h0 + r * shape.dilation_h;
    if (h < 0 || h >= shape.h) continue;
    for (int s = 0; s < shape.s; ++s) {
      const float* weights =
          group_filters + static_cast<int64_t>(r * shape.s + s) * shape.group_channels * pitch;
      const float* pixel[kColumns];  // null if the window lies outside the image
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int w = w0 + j * shape.stride_w + s * shape.dilation_w;
        const bool inside = q0 + j < shape.q && w >= 0 && w < shape.w;
        pixel[j] = inside ? image + (static_cast<int64_t>(h) * shape.w + w) * shape.c : nullptr;
      }
      for (int c = 0; c < shape.group_channels; c += kVector) {
        float in[kColumns][kVector];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          if constexpr (kVector == 4) {
            const float4 four =
                pixel[j] ? __ldg(reinterpret_cast<const float4*>(pixel[j] + c)) : make_float4(0, 0, 0, 0);
            in[j][0] = four.x;
            in[j][1] = four.y;
            in[j][2] = four.z;
            in[j][3] = four.w;
          } else {
            in[j][0] = pixel[j] ? __ldg(pixel[j] + c) : 0.0f;
          }
        }
#pragma unroll
        for (int i = 0; i < kVector; ++i, weights += pitch) {
          float weight[kOut];
          if constexpr (kOut == 4) {
            const float4 four = __ldg(reinterpret_cast<const float4*>(weights));
            weight[0] = four.x;
            weight[1] = four.y;
            weight[2] = four.z;
            weight[3] = four.w;
          } else {
            weight[0] = __ldg(weights);
          }
#pragma unroll
          for (int j = 0; j < kColumns; ++j) {
#pragma unroll
            for (int k = 0; k < kOut; ++k) sums[j][k] = fmaf(weight[k], in[j][i], sums[j][k]);
          }
        }
      }
    }
  }
  const int filter = tile * kOut;
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    if (q0 + j >= shape.q) continue;
    float* target = y + ((static_cast<int64_t>(n) * shape.p + p) * shape.q + q0 + j) * shape.k +
                    group * shape.group_filters + filter;
    float out[kOut];
#pragma unroll
    for (int k = 0; k < kOut; ++k) out[k] = relu_if(shape.relu, sums[j][k]);
    if (kOut == 4 && shape.k % 4 == 0 && shape.group_filters % 4 == 0) {
      *reinterpret_cast<float4*>(target) = make_float4(out[0], out[kOut / 4], out[kOut / 2], out[kOut - 1]);
    } else {
#pragma unroll
      for (int k = 0; k < kOut; ++k) {
        if (filter + k < shape.group_filters) target[k] = out[k];
      }
    }
  }
}

}  // namespace lenslet
