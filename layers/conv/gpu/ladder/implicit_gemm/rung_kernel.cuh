// Common parts of the implicit-GEMM ladder's kernels: the parameters of a problem, and the position of an element.
//
// Every rung computes, with groups = 1,
//   y [K, N*P*Q] = w [K, C*R*S] x im2col(x) [C*R*S, N*P*Q]
// where a column is an output position (n, p, q) and a row of im2col(x) a tap (c, r, s).
#pragma once

#include <cstdint>

#include "framework/tensor/keep_nan.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {

struct RungShape {
  int c, h, w;               // input [N, C, H, W]
  int k, r, s, q, plane;     // filters [K, C, R, S]; output [N, K, P, Q], plane = P*Q
  int image, columns, taps;  // C*H*W, N*P*Q, C*R*S
  int steps, pitch;          // of RungDesign::step taps; packed filters [steps * RungDesign::step, pitch]
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  FastDivide by_plane, by_q, by_rs, by_s, by_filter_tiles;
  bool relu;
};

struct RungOperands {
  const float* x;
  const float* filters;  // [K, C*R*S], or packed [steps * step, pitch]
  const float* bias;     // [pitch], zeros without a bias
  // If the design has a step, for each of steps * step taps (c, r, s): its offset from the upper left corner of a
  // window, in elements and in rows and columns. Taps that pad the last step are outside every image.
  const int* offsets;  // c*H*W + r*dilation_h*W + s*dilation_w
  const int2* shifts;  // r*dilation_h, s*dilation_w
  float* y;
};
constexpr int kNowhere = 1 << 30;  // an offset beyond every image

/// One output position.
struct RungColumn {
  int n, pixel, h, w;  // image, p*Q + q, upper left corner of its window in the padded input
  __device__ RungColumn(const RungShape& shape, int column) {
    int q;
    n = shape.by_plane.divide(column, pixel);
    const int p = shape.by_q.divide(pixel, q);
    h = p * shape.stride_h - shape.pad_h;
    w = q * shape.stride_w - shape.pad_w;
  }
};

/// Element (tap, column) of im2col(x), computed at every use.
__device__ __forceinline__ float rung_im2col(const RungShape& shape, const float* x, int tap, int column) {
  if (tap >= shape.taps || column >= shape.columns) return 0.0f;
  int place, s;
  const int c = shape.by_rs.divide(tap, place);
  const int r = shape.by_s.divide(place, s);
  const RungColumn corner(shape, column);
  const int h = corner.h + r * shape.dilation_h, w = corner.w + s * shape.dilation_w;
  if (h < 0 || h >= shape.h || w < 0 || w >= shape.w) return 0.0f;
  return x[static_cast<int64_t>(corner.n) * shape.image + (c * shape.h + h) * shape.w + w];
}

/// Element (filter, tap) of w as given.
__device__ __forceinline__ float rung_filter(const RungShape& shape, const float* filters, int filter,
                                             int tap) {
  if (filter >= shape.k || tap >= shape.taps) return 0.0f;
  return filters[static_cast<int64_t>(filter) * shape.taps + tap];
}

/// Adds the bias, applies ReLU and stores one output; does nothing for positions outside the problem.
__device__ __forceinline__ void rung_store(const RungShape& shape, const RungOperands& operands, int filter,
                                           int column, float sum) {
  if (filter >= shape.k || column >= shape.columns) return;
  int pixel;
  const int n = shape.by_plane.divide(column, pixel);
  operands.y[(static_cast<int64_t>(n) * shape.k + filter) * shape.plane + pixel] =
      relu_if(shape.relu, sum + operands.bias[filter]);
}

/// Stores four neighbouring columns of one filter, as one store if they are contiguous in one image.
__device__ __forceinline__ void rung_store_four(const RungShape& shape, const RungOperands& operands,
                                                int filter, int column, const float* sums) {
  if (shape.plane % 4 != 0 || column + 3 >= shape.columns) {
#pragma unroll
    for (int j = 0; j < 4; ++j) rung_store(shape, operands, filter, column + j, sums[j]);
    return;
  }
  if (filter >= shape.k) return;
  int pixel;
  const int n = shape.by_plane.divide(column, pixel);
  const float bias = operands.bias[filter];
  float* target = operands.y + (static_cast<int64_t>(n) * shape.k + filter) * shape.plane + pixel;
  *reinterpret_cast<float4*>(target) =
      make_float4(relu_if(shape.relu, sums[0] + bias), relu_if(shape.relu, sums[1] + bias),
                  relu_if(shape.relu, sums[2] + bias), relu_if(shape.relu, sums[3] + bias));
}

/// A column's window in the input, for kernels that compute it once, before their loop.
struct RungWindow {
  int corner, h, w;  // element of x, negative in the padding; row and column of it
  /// Columns past the end use the last column's window: their sums are never stored.
  __device__ RungWindow(const RungShape& shape, int column) {
    const RungColumn place(shape, min(column, shape.columns - 1));
    h = place.h;
    w = place.w;
    corner = place.n * shape.image + h * shape.w + w;
  }
  __device__ __forceinline__ bool holds(const RungShape& shape, int2 shift) const {
    return static_cast<unsigned>(h + shift.x) < static_cast<unsigned>(shape.h) &&
           static_cast<unsigned>(w + shift.y) < static_cast<unsigned>(shape.w);
  }
};

/// First filter and first column of this block's tile.
struct RungTile {
  int filter, column;
  __device__ RungTile(const RungShape& shape, int block_filters, int block_columns) {
    int filter_tile;
    column = shape.by_filter_tiles.divide(static_cast<int>(blockIdx.x), filter_tile) * block_columns;
    filter = filter_tile * block_filters;
  }
};

}  // namespace implicit_gemm_ladder
}  // namespace lenslet
