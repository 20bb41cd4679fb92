// Depthwise convolution with channels last (NHWC), and of any filter size, stride and dilation in either layout: the
// other kernels behind depthwise.cu. Formula and sources: ../depthwise.cu.
#pragma once

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/rectifier.h"

namespace lenslet {

struct DepthwiseChannelsShape {
  int c, h, w, k, p, q, r, s;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int threads;  // one for each patch and group of channels
  FastDivide by_multiplier, by_channel_groups, by_column_segments, by_row_segments;
  Rectifier after;
};

/// The values of kVector neighbouring channels.
template <int kVector>
struct alignas(kVector * sizeof(float)) ChannelVector {
  float at[kVector];
};

template <int kVector>
__device__ __forceinline__ ChannelVector<kVector> load_vector(const float* from) {
  ChannelVector<kVector> result;
  if constexpr (kVector == 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    result.at[0] = four.x, result.at[1] = four.y, result.at[2] = four.z, result.at[3] = four.w;
  } else {
    static_assert(kVector == 1);
    result.at[0] = __ldg(from);
  }
  return result;
}

// computes    y [N, P, Q, K] of x [N, H, W, C], filters RxS of one channel each, square stride, bias, optional ReLU
// work split  thread = kRows rows x 4 columns of kVector channels; neighbouring threads take neighbouring channels, so
//             that loads and stores are contiguous
// memory      no shared memory: inputs that patches share come from L1; registers hold 4*kRows*kVector sums
// requires    no dilation, groups == C; kVector 4: K == C, a multiple of 4 (checked by depthwise.cu)
// measured    H100, hot, NHWC: 8 images, 512 channels, 56 x 56, 3x3: 43.0 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int R, int S, int kStride, int kRows, int kVector>
__global__ void __launch_bounds__(128)
    conv_depthwise_channels_kernel(const DepthwiseChannelsShape shape,
                                   const float* __restrict__ x,        // [N, H, W, C]
                                   const float* __restrict__ filters,  // [R, S, K]
                                   const float* __restrict__ bias,     // [K]
                                   float* __restrict__ y) {            // [N, P, Q, K]
  constexpr int kColumns = 3 * kStride + S, kInputRows = (kRows - 1) * kStride + R;
  using Vector = ChannelVector<kVector>;
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread >= shape.threads) return;
  int group, column_segment, row_segment, unused;
  const int n = shape.by_row_segments.divide(
      shape.by_column_segments.divide(shape.by_channel_groups.divide(thread, group), column_segment),
      row_segment);
  const int k = group * kVector, c = shape.by_multiplier.divide(k, unused);
  const int p0 = row_segment * kRows, q0 = column_segment * 4;
  const int h0 = p0 * kStride - shape.pad_h, w0 = q0 * kStride - shape.pad_w;
  const float* input = x + static_cast<int64_t>(n) * shape.h * shape.w * shape.c + c;

  const Vector first = load_vector<kVector>(bias + k);
  Vector sums[kRows][4];
#pragma unroll
  for (int i = 0; i < kRows * 4; ++i) sums[i / 4][i % 4] = first;
#pragma unroll
  for (int i = 0; i < kInputRows; ++i) {
    const bool row_inside = static_cast<unsigned>(h0 + i) < static_cast<unsigned>(shape.h);
    Vector in[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const int w = w0 + j;
      const bool inside = row_inside && static_cast<unsigned>(w) < static_cast<unsigned>(shape.w);
      in[j] = inside ? load_vector<kVector>(input + ((h0 + i) * shape.w + w) * shape.c) : Vector{};
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int r = i - row * kStride;
      if (r < 0 || r >= R) continue;
#pragma unroll
      for (int s = 0; s < S; ++s) {
        const Vector weight = load_vector<kVector>(filters + (r * S + s) * shape.k + k);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int v = 0; v < kVector; ++v) {
            sums[row][j].at[v] = fmaf(weight.at[v], in[j * kStride + s].at[v], sums[row][j].at[v]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (p0 + row >= shape.p || q0 + j >= shape.q) continue;
      Vector out;
#pragma unroll
      for (int v = 0; v < kVector; ++v) out.at[v] = shape.after.of(sums[row][j].at[v]);
      const int64_t position = (static_cast<int64_t>(n) * shape.p + p0 + row) * shape.q + q0 + j;
      *reinterpret_cast<Vector*>(y + position * shape.k + k) = out;
    }
  }
}

// computes    y of x in either layout, any filter size, stride, padding and dilation, bias, optional ReLU
// work split  thread = one output; neighbouring threads take outputs that are neighbours in memory
// memory      no shared memory: inputs through L1
// requires    groups == C (checked by depthwise.cu)
// measured    H200, hot: 256 images, 16 planes of 28 x 28, 3x3, dilation 2: 45.4 us
//             (docs/results/2026-11-28-h200/layers.json)
template <bool kChannelsLast>
__global__ void __launch_bounds__(128)
    conv_depthwise_any_kernel(const DepthwiseChannelsShape shape,
                              const float* __restrict__ x,        // [N, C, H, W] or [N, H, W, C]
                              const float* __restrict__ filters,  // [K, R, S]
                              const float* __restrict__ bias,     // [K]
                              float* __restrict__ y) {            // [N, K, P, Q] or [N, P, Q, K]
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread >= shape.threads) return;
  int k, p, q, unused, n;
  if (kChannelsLast) {
    n = shape.by_row_segments.divide(
        shape.by_column_segments.divide(shape.by_channel_groups.divide(thread, k), q), p);
  } else {
    n = shape.by_channel_groups.divide(
        shape.by_row_segments.divide(shape.by_column_segments.divide(thread, q), p), k);
  }
  const int c = shape.by_multiplier.divide(k, unused);
  const int pixel_step = kChannelsLast ? shape.c : 1;
  const int64_t image = static_cast<int64_t>(n) * shape.c * shape.h * shape.w;
  const float* input = x + image + (kChannelsLast ? c : static_cast<int64_t>(c) * shape.h * shape.w);
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q * shape.stride_w - shape.pad_w;
  const float* weights = filters + static_cast<int64_t>(k) * shape.r * shape.s;
  float sum = __ldg(bias + k);
  for (int r = 0; r < shape.r; ++r) {
    const int h = h0 + r * shape.dilation_h;
    if (h < 0 || h >= shape.h) continue;
    for (int s = 0; s < shape.s; ++s) {
      const int w = w0 + s * shape.dilation_w;
      if (w < 0 || w >= shape.w) continue;
      const int64_t pixel = static_cast<int64_t>(h) * shape.w + w;
      sum = fmaf(__ldg(weights + r * shape.s + s), __ldg(input + pixel * pixel_step), sum);
    }
  }
  y[thread] = shape.after.of(sum);
}

}  // namespace lenslet
