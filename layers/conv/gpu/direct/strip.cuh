// Direct 3x3 convolution of RGB images by strips: a warp walks down 128 columns of the image and reads each input
// row once. In NCHW and in NHWC.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*stride - 1 + r, q*stride - 1 + s]
//
// Rolling rows in registers after P. Micikevicius, "3D finite difference computation on GPUs using CUDA", GPGPU-2
// (2009), section 4.1, with one change: instead of the window's input rows, the sums of the output rows that use the
// newest input row roll. These are 4*K registers per row instead of 18, and a multiply-add that writes to another
// register than it reads shifts them at no cost.
#pragma once

#include "framework/instructions/warp.cuh"
#include "layers/conv/conv_problem.h"
#include "layers/conv/gpu/direct/rows.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

constexpr int kDirectStripThreads = 128;
constexpr int kDirectStripColumns = 128;  // input columns of a warp, 4 a lane

struct DirectStripShape {
  int h, w, p, q;  // input and output plane
  int warps;       // N * strips * column_groups
  int strips;      // of an image: output rows [i*P/strips, (i+1)*P/strips) are strip i
  FastDivide by_column_groups, by_strips;  // ceil(W / kDirectStripColumns), strips
  bool relu;
};

/// One lane's share of an input row: its four columns, and for the first and the last lane the column beside the
/// warp's, which no other lane has.
struct DirectStripRow {
  float own[4][3];
  float beside[3];
};

/// The positions that a lane reads and writes. kVector: W is a multiple of 4, so that four columns lie aligned and
/// completely inside the row or wholly outside.
template <int K, int kStride, TensorLayout kLayout, bool kVector>
struct DirectStripLane {
  static constexpr bool kNhwc = kLayout == TensorLayout::kNhwc;
  static constexpr int kOutputs = 4 / kStride;  // columns of an output row

  const float* x;  // [C, H, W] or [H, W, C] of this image
  float* y;
  int h, w, p, q, end, row_pitch;  // end: rows from here on are not this strip's
  int lane, w0, w_beside;
  bool reads_beside;

  __device__ DirectStripRow load(int row) const {
    DirectStripRow in;
    const bool inside = row >= 0 && row < end;
    const float* source = x + static_cast<int64_t>(row) * row_pitch;
    if constexpr (kNhwc) {
      static_assert(kVector, "rows of pixels are read as float4");
      float values[12];
#pragma unroll
      for (int i = 0; i < 12; i += 4) load_four(source + w0 * 3 + i, inside && w0 < w, values + i);
#pragma unroll
      for (int i = 0; i < 12; ++i) in.own[i / 3][i % 3] = values[i];
    } else {
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        const float* plane = source + c * h * w;
        float values[4];
        if constexpr (kVector) {
          load_four(plane + w0, inside && w0 < w, values);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j) values[j] = inside && w0 + j < w ? __ldg(plane + w0 + j) : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) in.own[j][c] = values[j];
      }
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float* value = kNhwc ? source + w_beside * 3 + c : source + c * h * w + w_beside;
      in.beside[c] = inside && reads_beside ? __ldg(value) : 0.0f;
    }
    return in;
  }
  static __device__ void load_four(const float* source, bool inside, float* values) {
    const float4 four = inside ? __ldg(reinterpret_cast<const float4*>(source)) : make_float4(0, 0, 0, 0);
    values[0] = four.x;
    values[1] = four.y;
    values[2] = four.z;
    values[3] = four.w;
  }

  /// The lane's columns with those of its neighbours around them: [column, channel] from w0 - 1 on.
  __device__ void widen(const DirectStripRow& in, float (&window)[6][3]) const {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float left = __shfl_up_sync(kAllLanes, in.own[3][c], 1);
      window[0][c] = lane == 0 ? in.beside[c] : left;
#pragma unroll
      for (int j = 0; j < 4; ++j) window[1 + j][c] = in.own[j][c];
      if constexpr (kStride == 1) {
        const float right = __shfl_down_sync(kAllLanes, in.own[0][c], 1);
        window[5][c] = lane == 31 ? in.beside[c] : right;
      }
    }
  }

  /// Stores one output row's sums, none below `floor`.
  __device__ void store(int row, const float (&sums)[K][kOutputs], float floor) const {
    const int q0 = w0 / kStride;
    if (row < 0 || q0 >= q) return;
    if constexpr (kNhwc) {
      float out[kOutputs * K];
#pragma unroll
      for (int i = 0; i < kOutputs * K; ++i) out[i] = max_keep_nan(floor, sums[i % K][i / K]);
      float* target = y + (static_cast<int64_t>(row) * q + q0) * K;
      constexpr int kWidth = kOutputs * K % 4 == 0 ? 4 : 2;
#pragma unroll
      for (int i = 0; i < kOutputs * K; i += kWidth) store_together<kWidth>(target + i, out + i);
    } else {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        float out[kOutputs];
#pragma unroll
        for (int j = 0; j < kOutputs; ++j) out[j] = max_keep_nan(floor, sums[k][j]);
        float* target = y + (static_cast<int64_t>(k) * p + row) * q + q0;
        if constexpr (kVector) {
          store_together<kOutputs>(target, out);
        } else {
#pragma unroll
          for (int j = 0; j < kOutputs; ++j) {
            if (q0 + j < q) target[j] = out[j];
          }
        }
      }
    }
  }
  template <int kWidth>
  static __device__ void store_together(float* target, const float* out) {
    if constexpr (kWidth == 4) {
      *reinterpret_cast<float4*>(target) = make_float4(out[0], out[1], out[2], out[3]);
    } else {
      *reinterpret_cast<float2*>(target) = make_float2(out[0], out[1]);
    }
  }
};

/// sums = start + filter row kRow applied to the window.
template <int K, int kStride, int kRow>
__device__ __forceinline__ void add_strip_row(const DirectRowsFilter<3, K, 3, 3>& filter,
                                              const float (&window)[6][3],
                                              const float (&start)[K][4 / kStride],
                                              float (&sums)[K][4 / kStride]) {
#pragma unroll
  for (int c = 0; c < 3; ++c) {
#pragma unroll
    for (int s = 0; s < 3; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const float weight = filter.weights[((k * 3 + c) * 3 + kRow) * 3 + s];
#pragma unroll
        for (int j = 0; j < 4 / kStride; ++j) {
          sums[k][j] = fmaf(weight, window[j * kStride + s][c], c == 0 && s == 0 ? start[k][j] : sums[k][j]);
        }
      }
    }
  }
}

// computes    y [N, K, P, Q] or [N, P, Q, K] of x [N, 3, H, W] or [N, H, W, 3], 3x3 filters, padding 1, stride 1 or 2,
//             bias, optional ReLU
// work split  warp = 128 input columns of one strip of output rows, walked downwards; lane = 4 columns of all K
//             filters
// memory      no shared memory: neighbouring columns by shuffle; registers hold the sums of the rows in progress, a row
//             and the next one, which is read while this one is worked on; filters in the constant bank
// requires    compiled K and stride, no dilation, one group; kVector: W a multiple of 4 (checked by
//             direct/strip_launch.cuh)
// measured    H100, hot, NCHW / NHWC: RGB 4096 x 4096 to 3 planes, stride 1: 154.3 / 153.3 us; stride 2: 90.8 / 89.4 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int K, int kStride, TensorLayout kLayout, bool kVector>
__global__ void __launch_bounds__(kDirectStripThreads, 4)
    conv_direct_strip_kernel(const __grid_constant__ DirectRowsFilter<3, K, 3, 3> filter,
                             const DirectStripShape shape,
                             const float* __restrict__ x,  // [N, 3, H, W] or [N, H, W, 3]
                             float* __restrict__ y) {      // [N, K, P, Q] or [N, P, Q, K]
  static_assert(kStride == 1 || kStride == 2, "a lane's four columns are 4 or 2 outputs");
  constexpr int kOutputs = 4 / kStride;
  const int warp = (blockIdx.x * kDirectStripThreads + threadIdx.x) / 32;
  if (warp >= shape.warps) return;
  int column_group, strip;
  const int n = shape.by_strips.divide(shape.by_column_groups.divide(warp, column_group), strip);
  const int p0 = static_cast<int>(static_cast<int64_t>(strip) * shape.p / shape.strips);
  const int p_end = static_cast<int>((static_cast<int64_t>(strip) + 1) * shape.p / shape.strips);

  DirectStripLane<K, kStride, kLayout, kVector> lane;
  lane.x = x + static_cast<int64_t>(n) * 3 * shape.h * shape.w;
  lane.y = y + static_cast<int64_t>(n) * K * shape.p * shape.q;
  lane.h = shape.h;
  lane.w = shape.w;
  lane.p = shape.p;
  lane.q = shape.q;
  lane.end = min((p_end - 1) * kStride + 2, shape.h);
  lane.row_pitch = kLayout == TensorLayout::kNhwc ? 3 * shape.w : shape.w;
  lane.lane = threadIdx.x % 32;
  lane.w0 = column_group * kDirectStripColumns + lane.lane * 4;
  lane.w_beside = lane.lane == 0 ? lane.w0 - 1 : lane.w0 + 4;
  lane.reads_beside =
      (lane.lane == 0 || (kStride == 1 && lane.lane == 31)) && lane.w_beside >= 0 && lane.w_beside < shape.w;

  float bias[K][kOutputs];
#pragma unroll
  for (int i = 0; i < K * kOutputs; ++i) bias[i / kOutputs][i % kOutputs] = filter.bias[i / kOutputs];
  const float floor = output_floor(shape.relu);
  float window[6][3];
  if constexpr (kStride == 1) {
    // Input row h is the last row of output row h-1's window, the middle one of h's and the first one of h+1's.
    float finished[K][kOutputs], middle[K][kOutputs], first[K][kOutputs];
    DirectStripRow row = lane.load(p0 - 1), next = lane.load(p0);
    lane.widen(row, window);
    add_strip_row<K, 1, 0>(filter, window, bias, first);
    row = next;
    next = lane.load(p0 + 1);
    lane.widen(row, window);
    add_strip_row<K, 1, 1>(filter, window, first, middle);
    add_strip_row<K, 1, 0>(filter, window, bias, first);
#pragma unroll 1
    for (int p = p0; p < p_end; ++p) {
      row = next;
      next = lane.load(p + 2);
      lane.widen(row, window);
      add_strip_row<K, 1, 2>(filter, window, middle, finished);
      add_strip_row<K, 1, 1>(filter, window, first, middle);
      add_strip_row<K, 1, 0>(filter, window, bias, first);
      lane.store(p, finished, floor);
    }
  } else {
    // Odd input rows are the last row of one window and the first one of the next.
    float sums[K][kOutputs];
    DirectStripRow even = lane.load(2 * p0), odd = lane.load(2 * p0 - 1);
    lane.widen(odd, window);
    add_strip_row<K, 2, 0>(filter, window, bias, sums);
    odd = lane.load(2 * p0 + 1);
#pragma unroll 1
    for (int p = p0; p < p_end; ++p) {
      const DirectStripRow middle = even, last = odd;
      even = lane.load(2 * p + 2);
      odd = lane.load(2 * p + 3);
      lane.widen(middle, window);
      add_strip_row<K, 2, 1>(filter, window, sums, sums);
      lane.widen(last, window);
      add_strip_row<K, 2, 2>(filter, window, sums, sums);
      lane.store(p, sums, floor);
      add_strip_row<K, 2, 0>(filter, window, bias, sums);
    }
  }
}

}  // namespace lenslet
