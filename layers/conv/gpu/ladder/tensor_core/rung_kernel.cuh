// Common parts of the tensor_core ladder's kernels: the parameters of a problem, the position of an element, and how a
// warp's sums are stored.
//
// Every rung computes, with groups = 1, stride and dilation 1, NHWC,
//   y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K]
// where a row is an output position (n, p, q). A step multiplies one tap (r, s) and kStep channels. Operands are
// rounded to tf32, to nearest: filters on the host, inputs by the rung. Sums are fp32.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "framework/instructions/tensor_copy.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/keep_nan.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {
namespace tensor_core_ladder {

constexpr int kStep = 32;                // channels of a step: rows of 128 bytes, one for each bank
constexpr int kPiece = 4;                // floats that are copied together: 16 bytes
constexpr int kPieces = kStep / kPiece;  // of a row
constexpr int kRowBytes = kStep * 4;

struct RungShape {
  int c, h, w;           // input [N, H, W, C]
  int k, s, q;           // K filters of S columns; Q columns of the output
  int plane, positions;  // P*Q, N*P*Q; with the dropped columns of RungDesign
  int pad_h, pad_w;
  int steps;          // R*S*C / kStep
  int tiles, stages;  // of persistent rungs: of the whole problem; of a ring whose depth is not compiled in
  FastDivide by_plane, by_q, by_filter_tiles;
  bool relu;
};

struct RungOperands {
  CUtensorMap map;       // of x, for rungs whose inputs TMA copies
  const float* x;        // [N, H, W, C]
  const float* filters;  // [filter tiles, steps, filters of a tile, kStep], rounded
  const float* bias;     // [filter tiles * filters of a tile], zeros without a bias
  float* y;              // [N, P, Q, K]
};

/// First position and first filter of a block's tile; blocks count filter tiles first.
struct RungTile {
  int position, filter_tile, filter;
  __device__ RungTile(const RungShape& shape, int block, int block_positions, int block_filters) {
    position = shape.by_filter_tiles.divide(block, filter_tile) * block_positions;
    filter = filter_tile * block_filters;
  }
};

/// The tap and the first channel of a step.
struct RungTap {
  int r = 0, s = 0, c = 0;
  __device__ __forceinline__ void advance(const RungShape& shape) {
    if ((c += kStep) < shape.c) return;
    c = 0;
    if (++s < shape.s) return;
    s = 0;
    ++r;
  }
};

/// The upper left corner of a position's window, in image n and in the padding around it.
struct RungCorner {
  int n, h, w;
  __device__ RungCorner(const RungShape& shape, int position) {
    int pixel;
    n = shape.by_plane.divide(position, pixel);
    h = shape.by_q.divide(pixel, w) - shape.pad_h;
    w -= shape.pad_w;
  }
};

/// The rows of im2col(x) of which a thread copies a piece each, in every step: kCount of them, kApart apart.
template <int kPositions, int kThreads>
struct RungRows {
  static constexpr int kApart = kThreads / kPieces, kCount = kPositions / kApart;
  static constexpr int kNowhere = 1 << 30;  // a row beyond every image
  int h[kCount], w[kCount], at[kCount];     // of the corners; the element of x
  /// The thread's piece of the row `first` and of those after it. Rows past the end are zeros.
  __device__ __forceinline__ RungRows(const RungShape& shape, int first, int piece) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int position = first + i * kApart;
      const RungCorner corner(shape, position);
      h[i] = position < shape.positions ? corner.h : kNowhere;
      w[i] = corner.w;
      at[i] = ((corner.n * shape.h + corner.h) * shape.w + corner.w) * shape.c + piece * kPiece;
    }
  }
  /// Whether the tap is inside of the image for row i, and where its piece is then; x itself if it is not.
  __device__ __forceinline__ const float* piece(const RungShape& shape, const float* x, const RungTap& tap,
                                                int i, bool& inside) const {
    inside = static_cast<unsigned>(h[i] + tap.r) < static_cast<unsigned>(shape.h) &&
             static_cast<unsigned>(w[i] + tap.s) < static_cast<unsigned>(shape.w);
    return x + (inside ? at[i] + (tap.r * shape.w + tap.s) * shape.c + tap.c : 0);
  }
};

/// Adds the bias, applies ReLU, and stores four neighbouring filters of a position. K is a multiple of four.
__device__ __forceinline__ void rung_store(const RungShape& shape, const RungOperands& operands, int position,
                                           int filter, float4 sums) {
  if (position >= shape.positions || filter >= shape.k) return;
  const float4 bias = __ldg(reinterpret_cast<const float4*>(operands.bias + filter));
  float* const target = operands.y + static_cast<int64_t>(position) * shape.k + filter;
  *reinterpret_cast<float4*>(target) =
      make_float4(relu_if(shape.relu, sums.x + bias.x), relu_if(shape.relu, sums.y + bias.y),
                  relu_if(shape.relu, sums.z + bias.z), relu_if(shape.relu, sums.w + bias.w));
}

/// Stores a warp's sums of 16 positions and 16 filters from `position` and `filter` on: two fragments of mma.sync, or
/// eight sums of wgmma. A lane has pairs of a row; neighbouring lanes exchange them, so that each stores four.
__device__ __forceinline__ void rung_store_16x16(const RungShape& shape, const RungOperands& operands,
                                                 int position, int filter, const float* left,
                                                 const float* right) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const bool odd = lane % 2 != 0;
#pragma unroll
  for (int half = 0; half < 4; half += 2) {  // rows lane / 4, then those eight below
    const float one = __shfl_xor_sync(kAllLanes, odd ? left[half] : right[half], 1);
    const float two = __shfl_xor_sync(kAllLanes, odd ? left[half + 1] : right[half + 1], 1);
    const float4 four = odd ? make_float4(one, two, right[half], right[half + 1])
                            : make_float4(left[half], left[half + 1], one, two);
    rung_store(shape, operands, position + half * 4 + lane / 4, filter + lane % 2 * 8 + lane % 4 / 2 * 4,
               four);
  }
}

/// Stores a warp's sums of mma.sync, kRows x kColumns fragments of 16 positions and 8 filters.
template <int kRows, int kColumns>
__device__ __forceinline__ void rung_store_fragments(const RungShape& shape, const RungOperands& operands,
                                                     int position, int filter,
                                                     const float (&sums)[kRows][kColumns][4]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; j += 2)
      rung_store_16x16(shape, operands, position + i * 16, filter + j * 8, sums[i][j], sums[i][j + 1]);
  }
}

/// Starts TMA's copy of a step's inputs, which end in the swizzled order: a row of kStep channels for each of the map's
/// positions. The copy rounds to tf32, to nearest.
__device__ __forceinline__ void rung_tensor_copy(const RungOperands& operands, const RungCorner& corner,
                                                 const RungTap& tap, uint32_t target, uint32_t barrier) {
  im2col_copy(target, operands.map, {corner.n, corner.h, corner.w, tap.r, tap.s, tap.c}, barrier);
}

}  // namespace tensor_core_ladder
}  // namespace lenslet
