// Depthwise convolution of planes stored one after another (NCHW), 3x3, 5x5 and 7x7: the kernel behind depthwise.cu.
//
// An output needs R*S inputs of one plane and nothing is summed over channels. The bound is therefore to read each
// input and write each output once. So a thread computes a patch of several rows; input rows shared by neighbours are
// read once or found in L1.
#pragma once

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/rectifier.h"

namespace lenslet {

constexpr int kDepthwiseAnyPad = -1;  // value of kPad: the padding is known only at run time

/// Blocks of 128 threads that a multiprocessor should hold: more waiting loads hide more latency, until registers
/// spill. Chosen by hand: 6, 5 and 4 blocks leave 80, 96 and 128 registers per thread (65,536 / 128 / blocks, in steps
/// of 8). The filter alone takes R*S of them, 49 of 7x7.
constexpr int depthwise_min_blocks(int r, int stride) { return r == 7 ? 4 : r == 5 && stride == 2 ? 5 : 6; }

/// Floats of one filter with its bias after it, as the rows kernel reads them: whole float4.
__host__ __device__ constexpr int depthwise_filter_pitch(int r, int s) { return (r * s + 1 + 3) / 4 * 4; }

struct DepthwiseShape {
  int h, w, k, p, q;
  int pad_h, pad_w;
  int segments;                              // N * K * ceil(P / kRows) * ceil(Q / 4): one thread each
  FastDivide row_segments, column_segments;  // by ceil(P / kRows), ceil(Q / 4)
  FastDivide by_k, by_multiplier;            // by K, by K / C
  int store_width;                           // floats a store may take at once: 4, 2 or 1, as Q allows
  Rectifier after;
};

/// kCount values of an input row from column `column` - pad on, zero outside. kVector > 1: width, `column` and row are
/// multiples of it, so that a vector lies completely inside or outside the row.
template <int kCount, int kPad, int kVector>
__device__ __forceinline__ void load_depthwise_row(const float* row, bool row_inside, int column, int width,
                                                   int pad, float (&values)[kCount]) {
  constexpr int kLoose = kVector > 1 ? kPad : kCount;  // values before the first whole vector
#pragma unroll
  for (int i = 0; i < kLoose; ++i) {
    const int at = column - pad + i;
    const bool inside = row_inside && static_cast<unsigned>(at) < static_cast<unsigned>(width);
    values[i] = inside ? __ldg(row + at) : 0.0f;
  }
#pragma unroll
  for (int i = kLoose; i < kCount; i += kVector) {
    const int at = column - pad + i;
    const bool inside = row_inside && at < width;
    if (i + 1 == kCount) {
      values[i] = inside ? __ldg(row + at) : 0.0f;
    } else if constexpr (kVector == 2) {
      const float2 two = inside ? __ldg(reinterpret_cast<const float2*>(row + at)) : make_float2(0, 0);
      values[i] = two.x;
      values[i + 1] = two.y;
    } else {
      const float4 four = inside ? __ldg(reinterpret_cast<const float4*>(row + at)) : make_float4(0, 0, 0, 0);
      values[i] = four.x;
      values[i + 1] = four.y;
      if (i + 2 < kCount) values[i + 2] = four.z;
      if (i + 3 < kCount) values[i + 3] = four.w;
    }
  }
}

/// Stores up to `count` of four neighbours, `width` at a time.
__device__ __forceinline__ void store_depthwise_row(float* target, const float (&out)[4], int width,
                                                    int count) {
  if (width == 2) {
    *reinterpret_cast<float2*>(target) = make_float2(out[0], out[1]);
    if (count > 2) *reinterpret_cast<float2*>(target + 2) = make_float2(out[2], out[3]);
  } else {
    store_four(target, out, width == 4, count);
  }
}

// computes    y [N, K, P, Q] of x [N, C, H, W], filters RxS of one plane each, K a multiple of C, square stride, bias,
//             optional ReLU
// work split  thread = kRows rows x 4 columns of one output plane; neighbouring threads take neighbouring columns, then
//             rows, then planes, so that the filters of one input plane find it in L2
// memory      no shared memory: input rows as vectors of kVector through L1, which also serves the rows and columns
//             that patches share; registers hold 4*kRows sums, an input row and the filter
// requires    W a multiple of kVector; padding kPad on all sides where kVector > 1; no dilation, groups == C (checked
//             by depthwise.cu)
// measured    H100, hot, NCHW: 8 images, 512 channels, 56 x 56, 3x3: 37.0 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int R, int S, int kStride, int kPad, int kRows, int kVector>
__global__ void __launch_bounds__(128, depthwise_min_blocks(R, kStride))
    conv_depthwise_rows_kernel(const DepthwiseShape shape,
                               const float* __restrict__ x,        // [N, C, H, W]
                               const float* __restrict__ filters,  // [K, depthwise_filter_pitch(R, S)]
                               float* __restrict__ y) {            // [N, K, P, Q]
  static_assert(kVector == 1 || kPad != kDepthwiseAnyPad);
  constexpr int kColumns = 3 * kStride + S;              // input columns for 4 outputs
  constexpr int kInputRows = (kRows - 1) * kStride + R;  // input rows for kRows outputs
  const int segment = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (segment >= shape.segments) return;
  int column_segment, row_segment, k, filter_of_input;
  const int plane =
      shape.row_segments.divide(shape.column_segments.divide(segment, column_segment), row_segment);
  shape.by_k.divide(plane, k);
  // [N, C * multiplier, P, Q]: the filters of one input plane are neighbours in the output.
  const int input_plane = shape.by_multiplier.divide(plane, filter_of_input);
  const int p0 = row_segment * kRows, q0 = column_segment * 4;
  const float* input = x + static_cast<int64_t>(input_plane) * shape.h * shape.w;  // [H, W]
  const int pad_h = kPad == kDepthwiseAnyPad ? shape.pad_h : kPad;
  const int pad_w = kPad == kDepthwiseAnyPad ? shape.pad_w : kPad;

  constexpr int kPitch = depthwise_filter_pitch(R, S);
  float weights[kPitch];  // [R, S], then the bias
#pragma unroll
  for (int i = 0; i < kPitch; i += 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(filters + k * kPitch + i));
    weights[i] = four.x;
    weights[i + 1] = four.y;
    weights[i + 2] = four.z;
    weights[i + 3] = four.w;
  }
  float sums[kRows][4];
#pragma unroll
  for (int i = 0; i < kRows * 4; ++i) sums[i / 4][i % 4] = weights[R * S];
#pragma unroll
  for (int i = 0; i < kInputRows; ++i) {
    const int h = p0 * kStride - pad_h + i;
    float in[kColumns];
    load_depthwise_row<kColumns, kPad, kVector>(input + h * shape.w,
                                                static_cast<unsigned>(h) < static_cast<unsigned>(shape.h),
                                                q0 * kStride, shape.w, pad_w, in);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int r = i - row * kStride;
      if (r < 0 || r >= R) continue;
#pragma unroll
      for (int s = 0; s < S; ++s) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[row][j] = fmaf(weights[r * S + s], in[j * kStride + s], sums[row][j]);
      }
    }
  }

  float* output = y + (static_cast<int64_t>(plane) * shape.p + p0) * shape.q + q0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (p0 + row >= shape.p) continue;
    float out[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) out[j] = shape.after.of(sums[row][j]);
    store_depthwise_row(output + row * shape.q, out, shape.store_width, shape.q - q0);
  }
}

}  // namespace lenslet
