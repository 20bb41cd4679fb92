// Direct convolution for few channels: all filters are in the constant bank of the launch, inputs are read from global
// memory as float4, and a thread computes 4 columns of kRows output rows for kOut channels. A following 2x2 max pooling
// with stride 2 is computed in the same registers. Formula and sources: ../direct.cu.
#pragma once

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

/// Weights and bias as a kernel parameter: each launch has its own copy in the constant bank, where an FFMA
/// reads its operand at full rate, and two layers never overwrite each other's.
template <int C, int K, int R, int S>
struct DirectRowsFilter {
  float weights[K * C * R * S];  // [K, C, R, S]; another order for the rows kernel
  float bias[K];                 // [K]
};

struct DirectRowsShape {
  int h, w, p, q;                            // input plane, and the plane that is stored
  int segments;                              // N * row_segments * column_segments: one thread each
  FastDivide row_segments, column_segments;  // division by the number of threads down and across a plane
  int store_width;                           // floats a store may take at once: 4, 2 or 1, as Q allows
  bool relu;
};

/// kCount columns of one input row from column `w0` - kPad on, zero outside the image; `row` points to column w0. w0
/// and the width are multiples of 4, so that a float4 lies completely inside or outside the row.
template <int kCount, int kPad>
__device__ __forceinline__ void load_direct_row(const float* row, bool row_inside, int w0, int width,
                                                float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kPad; ++i) {
    const int column = w0 - kPad + i;
    values[i] = row_inside && column >= 0 && column < width ? __ldg(row - kPad + i) : 0.0f;
  }
#pragma unroll
  for (int i = kPad; i < kCount; i += 4) {
    const int column = w0 - kPad + i;
    const bool inside = row_inside && column < width;
    if (i + 1 == kCount) {
      values[i] = inside ? __ldg(row - kPad + i) : 0.0f;
    } else {
      const float4 four =
          inside ? __ldg(reinterpret_cast<const float4*>(row - kPad + i)) : make_float4(0, 0, 0, 0);
      values[i] = four.x;
      values[i + 1] = four.y;
      if (i + 2 < kCount) values[i + 2] = four.z;
      if (i + 3 < kCount) values[i + 3] = four.w;
    }
  }
}

/// Stores rows p0.. of finished sums, 4 columns from q0 on.
template <int kRows, int kOut>
__device__ __forceinline__ void store_direct_rows(const DirectRowsShape& shape,
                                                  const float (&sums)[kRows][kOut][4], int plane, int p0,
                                                  int q0, float* __restrict__ y) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (p0 + row >= shape.p) continue;
#pragma unroll
    for (int k = 0; k < kOut; ++k) {
      float out[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) out[j] = relu_if(shape.relu, sums[row][k][j]);
      float* target = y + ((static_cast<int64_t>(plane) + k) * shape.p + p0 + row) * shape.q + q0;
      if (shape.store_width == 2) {
        *reinterpret_cast<float2*>(target) = make_float2(out[0], out[1]);
        if (q0 + 2 < shape.q) *reinterpret_cast<float2*>(target + 2) = make_float2(out[2], out[3]);
      } else {
        store_four(target, out, shape.store_width == 4, shape.q - q0);
      }
    }
  }
}

/// Stores the maxima of 2x2 sums, 2 columns from q0 on of rows p0.. of the pooled plane.
template <int kRows, int kOut>
__device__ __forceinline__ void store_pooled_rows(const DirectRowsShape& shape,
                                                  const float (&sums)[kRows][kOut][4], int plane, int p0,
                                                  int q0, float* __restrict__ y) {
  const float floor = output_floor(shape.relu);
#pragma unroll
  for (int row = 0; row < kRows; row += 2) {
    if (p0 + row / 2 >= shape.p) continue;
    float* target = y + (static_cast<int64_t>(plane) * shape.p + p0 + row / 2) * shape.q + q0;
#pragma unroll
    for (int k = 0; k < kOut; ++k, target += shape.p * shape.q) {
      const float left = max_of_2x2(floor, sums[row][k], sums[row + 1][k], 0);
      const float right = max_of_2x2(floor, sums[row][k], sums[row + 1][k], 2);
      if (shape.store_width == 2) {
        *reinterpret_cast<float2*>(target) = make_float2(left, right);
      } else {
        target[0] = left;
        if (q0 + 1 < shape.q) target[1] = right;
      }
    }
  }
}

// computes    y [N, K, P, Q] of x [N, C, H, W] with K filters RxS, square stride and padding, bias, optional
//             ReLU; with kPool the maxima of 2x2 windows of that, stride 2
// work split  thread = 4 columns x kRows rows x kOut channels of one image; blockIdx.y = channels in steps of
//             kOut
// memory      no shared memory: neighbours share input rows through L1; registers hold 4*kRows*kOut sums and
//             a row
// requires    W a multiple of 4, no dilation, one group (checked by direct/rows_launch.cuh)
// measured    H100, hot: RGB 4096 x 4096 to 3 planes, 3x3, stride 3, NCHW: 79.6 us
//             (docs/results/2026-11-27-h100/reproduce.json); LeNet's conv1 with pool1 in docs/results.md
template <int C, int K, int R, int S, int kStride, int kPad, int kRows, int kOut, bool kPool>
__global__ void __launch_bounds__(128, kPool ? 6 : 1) conv_direct_rows_kernel(
    const __grid_constant__ DirectRowsFilter<C, K, R, S> filter,  // weights [C, R, S, K]
    const DirectRowsShape shape,
    const float* __restrict__ x,                         // [N, C, H, W]
    float* __restrict__ y) {                             // [N, K, P, Q]
  constexpr int kColumns = 3 * kStride + S;              // input columns for 4 outputs
  constexpr int kInputRows = (kRows - 1) * kStride + R;  // input rows for kRows outputs
  const int segment = blockIdx.x * blockDim.x + threadIdx.x;
  if (segment >= shape.segments) return;
  int column_segment, row_segment;
  const int rest = shape.column_segments.divide(segment, column_segment);
  const int n = shape.row_segments.divide(rest, row_segment);
  const int p0 = row_segment * kRows, q0 = column_segment * 4, w0 = q0 * kStride;
  const int k0 = kOut == K ? 0 : blockIdx.y * kOut;

  float sums[kRows][kOut][4];
#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const float bias = filter.bias[k0 + k];
#pragma unroll
    for (int i = 0; i < kRows * 4; ++i) sums[i / 4][k][i % 4] = bias;
  }
#pragma unroll
  for (int c = 0; c < C; ++c) {
    // At column w0 of the first input row.
    const float* first =
        x + ((static_cast<int64_t>(n) * C + c) * shape.h + p0 * kStride - kPad) * shape.w + w0;
    float in[kInputRows][kColumns];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        const int i = r + row * kStride;
        if (row + 1 < kRows && r >= kStride) continue;  // was read for the output row below
        // Rows outside the image: padding, or rows of a thread that are not stored.
        constexpr bool kInside = kPad == 0 && (kPool || kRows == 1);
        const int h = p0 * kStride - kPad + i;
        const bool inside = kInside || static_cast<unsigned>(h) < static_cast<unsigned>(shape.h);
        load_direct_row<kColumns, kPad>(first + i * shape.w, inside, w0, shape.w, in[i]);
      }
#pragma unroll
      for (int s = 0; s < S; ++s) {
#pragma unroll
        for (int k = 0; k < kOut; ++k) {
          const float weight = filter.weights[((c * R + r) * S + s) * K + k0 + k];
#pragma unroll
          for (int row = 0; row < kRows; ++row) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              sums[row][k][j] = fmaf(weight, in[r + row * kStride][j * kStride + s], sums[row][k][j]);
            }
          }
        }
      }
    }
  }

  const int plane = n * K + k0;
  if constexpr (kPool) {
    static_assert(kRows % 2 == 0, "a thread holds whole windows");
    store_pooled_rows(shape, sums, plane, p0 / 2, q0 / 2, y);
  } else {
    store_direct_rows(shape, sums, plane, p0, q0, y);
  }
}

}  // namespace lenslet
