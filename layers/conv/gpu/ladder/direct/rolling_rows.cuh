// What rungs 08 to 13 of the direct ladder share: a warp reads 128 columns of an RGB image without shared memory. From
// 09 on it goes down the image, and adds each input row to all the output rows that need it, whose sums are in
// registers.
#pragma once

#include <cstdint>

#include "framework/base/error.h"
#include "framework/instructions/warp.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {

constexpr int kRollingColumns = 4;  // input columns of a lane
constexpr int kRollingRows = 32;    // output rows of a warp in rungs 09 and 10
// Launch bounds of rungs 09 to 13, as the product's: without the number of blocks of a multiprocessor nvcc spills with
// three filters.
constexpr int kRollingThreads = 128, kRollingBlocks = 4;

/// One lane's share of an input row: its four columns, and for the first and the last lane the column next to the
/// warp's, which no other lane has.
struct RollingRow {
  float4 own[kRgbChannels];
  float beside[kRgbChannels];
};

/// An input row as its windows need it: [channel, column] from the column before the lane's first one on.
using RollingWindow = float[kRgbChannels][kRollingColumns + 2];

/// Which outputs a lane computes, and where it reads. Stride 1 or 2, padding 1, W a multiple of 4.
template <int kStride>
struct RollingLane {
  static constexpr int kOutputs = kRollingColumns / kStride;  // columns of an output row

  int p0, p_end, q0;   // output rows [p0, p_end), columns from q0 on
  const float* image;  // x [3, H, W] of its image
  int h, w, h_end;     // input rows from h_end on are not needed by this warp's outputs, or do not exist
  int lane, w0, w_beside;
  bool reads_own, reads_beside;

  /// `rows`: output rows of a warp, in a block whose warps are on top of each other.
  __device__ RollingLane(const RungShape& shape, const RungBlock& block, const float* x, int rows) {
    p0 = block.p + static_cast<int>(threadIdx.y) * rows;
    p_end = min(p0 + rows, shape.p);
    place(shape, block, x);
  }

  /// A warp with the output rows [p_begin, p_stop).
  __device__ RollingLane(const RungShape& shape, const RungBlock& block, const float* x, int p_begin,
                         int p_stop)
      : p0(p_begin), p_end(p_stop) {
    place(shape, block, x);
  }

  /// Sets all but the rows.
  __device__ void place(const RungShape& shape, const RungBlock& block, const float* x) {
    lane = static_cast<int>(threadIdx.x);
    q0 = block.q + lane * kOutputs;
    image = x + static_cast<int64_t>(block.n) * kRgbChannels * shape.h * shape.w;
    h = shape.h;
    w = shape.w;
    h_end = min((p_end - 1) * kStride + 2, h);
    w0 = q0 * kStride;
    w_beside = lane == 0 ? w0 - 1 : w0 + kRollingColumns;
    reads_own = w0 < w;
    // The last window of stride 2 ends within the lane's columns.
    reads_beside = (lane == 0 || (kStride == 1 && lane == 31)) && w_beside >= 0 && w_beside < w;
  }

  /// Zeros outside the image.
  __device__ RollingRow load(int row) const {
    RollingRow in;
    const bool inside = row >= 0 && row < h_end;
#pragma unroll
    for (int c = 0; c < kRgbChannels; ++c) {
      const float* source = image + (static_cast<int64_t>(c) * h + row) * w;
      in.own[c] =
          inside && reads_own ? __ldg(reinterpret_cast<const float4*>(source + w0)) : make_float4(0, 0, 0, 0);
      in.beside[c] = inside && reads_beside ? __ldg(source + w_beside) : 0.0f;
    }
    return in;
  }

  /// Adds the neighbours' columns, by shuffle.
  __device__ void widen(const RollingRow& in, RollingWindow& window) const {
#pragma unroll
    for (int c = 0; c < kRgbChannels; ++c) {
      const float4 own = in.own[c];
      const float left = __shfl_up_sync(kAllLanes, own.w, 1);
      window[c][0] = lane == 0 ? in.beside[c] : left;
      window[c][1] = own.x;
      window[c][2] = own.y;
      window[c][3] = own.z;
      window[c][4] = own.w;
      if constexpr (kStride == 1) {
        const float right = __shfl_down_sync(kAllLanes, own.x, 1);
        window[c][5] = lane == 31 ? in.beside[c] : right;
      }
    }
  }
};

/// The sums of one output row of a lane: [filter, column].
template <int K, int kStride>
using RollingSums = float[K][kRollingColumns / kStride];

/// sums = the filters' biases.
template <int K, int kStride>
__device__ __forceinline__ void start_rolling(const SmallBank& bank, RollingSums<K, kStride>& sums) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int j = 0; j < kRollingColumns / kStride; ++j) sums[k][j] = bank.values[K * kRgbChannels * 9 + k];
  }
}

/// sums = source.
template <int K, int kStride>
__device__ __forceinline__ void roll(const RollingSums<K, kStride>& source, RollingSums<K, kStride>& sums) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int j = 0; j < kRollingColumns / kStride; ++j) sums[k][j] = source[k][j];
  }
}

/// sums += row kRow of the filters applied to the window.
template <int K, int kStride, int kRow>
__device__ __forceinline__ void add_rolling(const SmallBank& bank, const RollingWindow& window,
                                            RollingSums<K, kStride>& sums) {
#pragma unroll
  for (int c = 0; c < kRgbChannels; ++c) {
#pragma unroll
    for (int s = 0; s < 3; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const float weight = bank.values[((k * kRgbChannels + c) * 3 + kRow) * 3 + s];
#pragma unroll
        for (int j = 0; j < kRollingColumns / kStride; ++j) {
          sums[k][j] = fmaf(weight, window[c][j * kStride + s], sums[k][j]);
        }
      }
    }
  }
}

/// Stores one output row of a lane.
template <int K, int kStride>
__device__ __forceinline__ void store_rolling(const RungShape& shape, const RungBlock& block, float* y,
                                              int row, const RollingLane<kStride>& lane,
                                              const RollingSums<K, kStride>& sums) {
#pragma unroll
  for (int k = 0; k < K; ++k) rung_store_together(shape, y, block.n, k, row, lane.q0, sums[k]);
}

/// Stores one output row of a lane. As W is a multiple of 4, its columns all exist and are aligned, or none exists.
template <int K, int kStride>
__device__ __forceinline__ void store_plain(const RungShape& shape, const RungBlock& block, float* y, int row,
                                            const RollingLane<kStride>& lane,
                                            const RollingSums<K, kStride>& sums) {
  if (lane.q0 >= shape.q) return;
  const float floor = output_floor(shape.relu);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    float* target = y + ((static_cast<int64_t>(block.n) * K + k) * shape.p + row) * shape.q + lane.q0;
    const float first = max_keep_nan(floor, sums[k][0]), second = max_keep_nan(floor, sums[k][1]);
    if constexpr (kStride == 1) {
      *reinterpret_cast<float4*>(target) =
          make_float4(first, second, max_keep_nan(floor, sums[k][2]), max_keep_nan(floor, sums[k][3]));
    } else {
      *reinterpret_cast<float2*>(target) = make_float2(first, second);
    }
  }
}

/// What a warp of rungs 12 and 13 computes. Of `strips` strips of an image, strip i has the output rows
/// [i * P / strips, (i + 1) * P / strips). `n` is past the last image if no strip is left.
struct WarpStrip : RungBlock {
  int p_end;
  __device__ explicit WarpStrip(const RungShape& shape) {
    const int warp = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
    int column_tile, strip;
    n = shape.by_row_tiles.divide(shape.by_column_tiles.divide(warp, column_tile), strip);
    k = 0;
    p = first_row(shape, strip);
    q = column_tile * shape.tile_q;
    p_end = first_row(shape, strip + 1);
  }
  static __device__ int first_row(const RungShape& shape, int strip) {
    return static_cast<int>(static_cast<int64_t>(strip) * shape.p / shape.by_row_tiles.divisor());
  }
};

/// The walk of rungs 10 to 13: the next input row is loaded before this one is worked on; at stride 2 the next two
/// are.
template <int K, int kStride, bool kPlainStores = false>
__device__ __forceinline__ void walk_ahead(const SmallBank& bank, const RungShape& shape,
                                           const RungBlock& block, const RollingLane<kStride>& lane,
                                           float* __restrict__ y) {
  RollingWindow window;
  if constexpr (kStride == 1) {
    // Sums of output rows h - 1 (gets its last input row), h and h + 1 (its first one), h being the input row.
    RollingSums<K, 1> last, middle, first;
    start_rolling<K, 1>(bank, last);
    start_rolling<K, 1>(bank, middle);
    start_rolling<K, 1>(bank, first);
    RollingRow next = lane.load(lane.p0 - 1);
#pragma unroll 1
    for (int h = lane.p0 - 1; h <= lane.p_end; ++h) {
      const RollingRow row = next;
      next = lane.load(h + 1);
      lane.widen(row, window);
      add_rolling<K, 1, 2>(bank, window, last);
      add_rolling<K, 1, 1>(bank, window, middle);
      add_rolling<K, 1, 0>(bank, window, first);
      if constexpr (kPlainStores) {
        if (h > lane.p0) store_plain<K, 1>(shape, block, y, h - 1, lane, last);
      } else {
        if (h > lane.p0) store_rolling<K, 1>(shape, block, y, h - 1, lane, last);
      }
      roll<K, 1>(middle, last);
      roll<K, 1>(first, middle);
      start_rolling<K, 1>(bank, first);
    }
  } else {
    // An odd input row is the last row of one window and the first one of the next.
    RollingSums<K, 2> sums;
    start_rolling<K, 2>(bank, sums);
    RollingRow even = lane.load(2 * lane.p0), odd = lane.load(2 * lane.p0 - 1);
    lane.widen(odd, window);
    add_rolling<K, 2, 0>(bank, window, sums);
    odd = lane.load(2 * lane.p0 + 1);
#pragma unroll 1
    for (int p = lane.p0; p < lane.p_end; ++p) {
      const RollingRow middle = even, last = odd;
      even = lane.load(2 * p + 2);
      odd = lane.load(2 * p + 3);
      lane.widen(middle, window);
      add_rolling<K, 2, 1>(bank, window, sums);
      lane.widen(last, window);
      add_rolling<K, 2, 2>(bank, window, sums);
      if constexpr (kPlainStores) {
        store_plain<K, 2>(shape, block, y, p, lane, sums);
      } else {
        store_rolling<K, 2>(shape, block, y, p, lane, sums);
      }
      start_rolling<K, 2>(bank, sums);
      add_rolling<K, 2, 0>(bank, window, sums);
    }
  }
}

/// The problems of these rungs.
inline Support supports_rolling_rows(const char* name, const Conv2dProblem& problem) {
  const bool rgb = problem.c == kRgbChannels && (problem.k == 1 || problem.k == kMaxFilters);
  const bool window = problem.r == 3 && problem.s == 3 && problem.dilation_h == 1 && problem.dilation_w == 1;
  const bool place = problem.stride_h == problem.stride_w && problem.stride_h <= 2 && problem.pad_h == 1 &&
                     problem.pad_w == 1;
  if (rgb && window && place && problem.w % kRollingColumns == 0) return Support::yes();
  return Support::no(concat(name,
                            " supports 3x3 from 3 channels to 1 or 3 at strides 1 and 2 with padding 1, ",
                            "on rows of a multiple of 4 columns, found ", window_text(problem), " from ",
                            problem.c, " to ", problem.k, " on rows of ", problem.w, ": use direct"));
}

/// A block of these rungs is four warps, from 09 on; from 09 to 11 on top of each other.
inline RungDesign rolling_rows_design(const char* name, const char* kernel_name,
                                      RungKernels (*kernels)(const Conv2dProblem&)) {
  RungDesign design;
  design.name = name;
  design.kernel_name = kernel_name;
  design.supports = &supports_rolling_rows;
  design.kernels = kernels;
  design.columns = kRollingColumns;
  design.rows = kRollingRows;
  design.filters = kMaxFilters;
  design.threads_y = 4;
  design.whole_warps = true;
  design.input_columns = true;
  return design;
}

}  // namespace direct_ladder
}  // namespace lenslet
