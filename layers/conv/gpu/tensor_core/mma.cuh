// Implicit GEMM on tensor cores with mma.sync: any stride, padding, dilation, groups and size, both layouts.
// Formula and sources: ../tensor_core.cu.
#pragma once

#include <cstdint>

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/tensor/keep_nan.h"
#include "framework/tensor/math_mode.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

/// One row of the im2col matrix: channel c and tap (r, s) of the filter. 16 bytes, read at once. Rows added to fill the
/// last step read as zero: their dh is kNowhere.
struct alignas(16) TensorCoreTap {
  static constexpr int kNowhere = 1 << 30;  // outside every image
  int offset;                               // of the tap's element from the window's corner, in elements of x
  int dh, dw;                               // r*dilation_h, s*dilation_w
};

struct TensorCoreMmaShape {
  int h, w;                     // input plane
  int row_pitch, column_pitch;  // of x: W and 1 in NCHW, W*C and C in NHWC
  int image, group_input;       // C*H*W; first element of the next group: C/G*H*W or C/G
  int k, group_filters;         // K, K/G
  int positions;                // N*P*Q
  int plane;                    // P*Q
  int steps;                    // C/G*R*S over kBlockK, rounded up
  int filter_tiles;             // ceil(K/G / kBlockM)
  int stride_h, stride_w, pad_h, pad_w;
  int filter_pitch, pixel_pitch;  // of y: P*Q and 1, or 1 and K
  FastDivide by_filter_tiles, by_plane, by_q;
  bool pair_store;  // two neighbouring pixels lie in one image, side by side and 8-byte aligned
  bool relu;
};

/// Sizes of a variant: kBlockM filters x kBlockN positions per block, kBlockK rows of the im2col matrix per step,
/// kWarpsM x kWarpsN warps.
template <MathMode kMode, bool kChannelsLast, int kM, int kN, int kWarpsM, int kWarpsN>
struct TensorCoreMmaTile {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = kChannelsLast;
  static constexpr int kBlockM = kM, kBlockN = kN, kBlockK = 16, kStages = 4;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN, kWarpColumns = kWarpsN;
  static constexpr int kTilesM = kM / kWarpsM / 16, kTilesN = kN / kWarpsN / 8;  // mma tiles of a warp
  static constexpr int kDepth = kMode == MathMode::kTf32 ? 8 : 16;               // of one mma
  static constexpr int kFilterBytes = kM * kBlockK * (kMode == MathMode::kTf32 ? 4 : 2);  // of a step
  // A pitch of 8 modulo 32 puts the four rows and eight columns that a fragment reads into 32 different banks.
  static constexpr int kPitch = kN + 8;
  static constexpr int kStageBytes = kFilterBytes + kBlockK * kPitch * 4;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/// Gathers kBlockK x kBlockN elements of the im2col matrix per step. NCHW: a thread keeps its positions and steps
/// through the taps; neighbouring lanes read neighbouring pixels. NHWC: neighbouring lanes read neighbouring channels
/// of one pixel.
template <class Tile>
class TensorCoreGather {
 public:
  __device__ TensorCoreGather(const TensorCoreMmaShape& shape, const float* x, const TensorCoreTap* taps,
                              int first_position)
      : x_(x), taps_(taps + kTapOfThread()), height_(shape.h), width_(shape.w) {
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      // Positions past the end read the last one's input; their sums are never stored.
      const int position = min(first_position + kColumnOfThread() + i * kColumnsApart, shape.positions - 1);
      int pixel, q;
      const int n = shape.by_plane.divide(position, pixel);
      const int p = shape.by_q.divide(pixel, q);
      h_[i] = p * shape.stride_h - shape.pad_h;
      w_[i] = q * shape.stride_w - shape.pad_w;
      corner_[i] = n * shape.image + h_[i] * shape.row_pitch + w_[i] * shape.column_pitch;
    }
  }
  /// Enqueues one step into `target`, kBlockK rows of kPitch floats.
  __device__ __forceinline__ void fetch(uint32_t target) {
    target += (kTapOfThread() * Tile::kPitch + kColumnOfThread()) * 4;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const int4 tap = __ldg(reinterpret_cast<const int4*>(taps_ + row * kRowsApart));
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const bool inside = static_cast<unsigned>(h_[i] + tap.y) < static_cast<unsigned>(height_) &&
                            static_cast<unsigned>(w_[i] + tap.z) < static_cast<unsigned>(width_);
        copy_async_4_or_zero(target + (row * kRowsApart * Tile::kPitch + i * kColumnsApart) * 4,
                             inside ? x_ + (corner_[i] + tap.x) : x_, inside);
      }
    }
    taps_ += Tile::kBlockK;
  }

 private:
  static constexpr int kThreads = Tile::kThreads;
  static constexpr int kTapLanes =  // neighbouring threads along the taps
      Tile::kNhwc                ? Tile::kBlockK
      : kThreads > Tile::kBlockN ? kThreads / Tile::kBlockN
                                 : 1;
  static constexpr int kRowsApart = kTapLanes, kColumnsApart = kThreads / kTapLanes;
  static constexpr int kRows = Tile::kBlockK / kRowsApart, kColumns = Tile::kBlockN / kColumnsApart;
  static_assert(kRows * kRowsApart == Tile::kBlockK && kColumns * kColumnsApart == Tile::kBlockN,
                "threads tile the step");
  static __device__ int kTapOfThread() {
    return static_cast<int>(Tile::kNhwc ? threadIdx.x % kTapLanes : threadIdx.x / kColumnsApart);
  }
  static __device__ int kColumnOfThread() {
    return static_cast<int>(Tile::kNhwc ? threadIdx.x / kTapLanes : threadIdx.x % kColumnsApart);
  }
  const float* x_;
  const TensorCoreTap* taps_;
  int height_, width_;
  int corner_[kColumns], h_[kColumns], w_[kColumns];
};

/// Multiplies one step. Fragments of the filters are in the order of fragment_index() (pack.h), 16 bytes per lane.
/// Fragments of the inputs are read from their rows; fragment_index() uses the same order of rows inside an fp16 step.
template <class Tile>
__device__ __forceinline__ void tensor_core_multiply_step(const unsigned char* stage, int warp_m, int warp_n,
                                                          float (&sums)[Tile::kTilesM][Tile::kTilesN][4]) {
  const int lane = static_cast<int>(threadIdx.x % 32), row = lane % 4, column = lane / 4;
  const uint4* filters = reinterpret_cast<const uint4*>(stage) + warp_m * Tile::kTilesM * 32 + lane;
  const float* inputs = reinterpret_cast<const float*>(stage + Tile::kFilterBytes) + row * Tile::kPitch +
                        warp_n * Tile::kTilesN * 8 + column;
#pragma unroll
  for (int depth = 0; depth < Tile::kBlockK; depth += Tile::kDepth) {
    uint4 a[Tile::kTilesM];
#pragma unroll
    for (int i = 0; i < Tile::kTilesM; ++i) {
      a[i] = filters[(depth / Tile::kDepth * (Tile::kBlockM / 16) + i) * 32];
    }
#pragma unroll
    for (int j = 0; j < Tile::kTilesN; ++j) {
      const float* b = inputs + depth * Tile::kPitch + j * 8;
      if constexpr (Tile::kMath == MathMode::kTf32) {
        const uint32_t b0 = round_to_tf32(b[0]), b1 = round_to_tf32(b[4 * Tile::kPitch]);
#pragma unroll
        for (int i = 0; i < Tile::kTilesM; ++i) multiply_tf32(sums[i][j], a[i], b0, b1, sums[i][j]);
      } else {
        const uint32_t b0 = pack_halves(b[0], b[4 * Tile::kPitch]);
        const uint32_t b1 = pack_halves(b[8 * Tile::kPitch], b[12 * Tile::kPitch]);
#pragma unroll
        for (int i = 0; i < Tile::kTilesM; ++i) multiply_fp16(sums[i][j], a[i], b0, b1, sums[i][j]);
      }
    }
  }
}
#endif

// computes    y [N, K, P*Q] = filters [K/G, C/G*R*S] x im2col(x) [C/G*R*S, N*P*Q] per group, bias, optional ReLU;
//             operands rounded to tf32 or fp16, sums in fp32
// work split  block = kBlockM filters x kBlockN output positions (blockIdx.x, filters fastest, so that neighbours
//             share the input in L2; blockIdx.y = group), warp = kTilesM x kTilesN mma tiles of 16 x 8
// memory      shared: kStages steps of kBlockM x kBlockK packed filters and kBlockK x (kBlockN + 8) inputs in fp32,
//             filled by cp.async three steps ahead
// requires    compute capability 8.0 (checked by tensor_core.cu); N*C*H*W < 2^31
// measured    H200, hot, tf32: 8 images, 64 channels, 128 x 128, 256 filters 3x3, stride 2: 174.4 us
//             (docs/results/2026-11-28-h200/layers-tensor_core.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads)
    conv_tensor_core_mma_kernel(const TensorCoreMmaShape shape,
                                const float* __restrict__ x,                // [N, C, H, W] or [N, H, W, C]
                                const unsigned char* __restrict__ filters,  // [G, filter_tiles, steps] packed
                                const float* __restrict__ bias,             // [G, filter_tiles*kBlockM]
                                const TensorCoreTap* __restrict__ taps,     // [steps*kBlockK]
                                float* __restrict__ y) {                    // [N, K, P, Q] or [N, P, Q, K]
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) unsigned char shared[];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int warp_m = warp / Tile::kWarpColumns, warp_n = warp % Tile::kWarpColumns;
  const int group = static_cast<int>(blockIdx.y);
  int filter_tile;
  const int first_position =
      shape.by_filter_tiles.divide(static_cast<int>(blockIdx.x), filter_tile) * Tile::kBlockN;
  TensorCoreGather<Tile> gather(shape, x + static_cast<int64_t>(group) * shape.group_input, taps,
                                first_position);
  const unsigned char* packed = filters + (static_cast<int64_t>(group) * shape.filter_tiles + filter_tile) *
                                              shape.steps * Tile::kFilterBytes;

  const auto fetch = [&](int step) {
    if (step < shape.steps) {
      const uint32_t stage = shared_address(shared) + step % Tile::kStages * Tile::kStageBytes;
      gather.fetch(stage + Tile::kFilterBytes);
      for (int i = thread * 16; i < Tile::kFilterBytes; i += Tile::kThreads * 16) {
        copy_async_16(stage + i, packed + static_cast<int64_t>(step) * Tile::kFilterBytes + i);
      }
    }
    commit_copies();  // also an empty group, so that the number of pending groups stays the same
  };
  float sums[Tile::kTilesM][Tile::kTilesN][4] = {};
#pragma unroll
  for (int step = 0; step < Tile::kStages - 1; ++step) fetch(step);
  for (int step = 0; step < shape.steps; ++step) {
    wait_for_copies<Tile::kStages - 2>();
    __syncthreads();  // the step is visible to all threads, and no thread reads the stage to be filled next
    fetch(step + Tile::kStages - 1);
    tensor_core_multiply_step<Tile>(shared + step % Tile::kStages * Tile::kStageBytes, warp_m, warp_n, sums);
  }

  const int first_filter = filter_tile * Tile::kBlockM + warp_m * Tile::kTilesM * 16 + lane / 4;
  const float* group_bias = bias + static_cast<int64_t>(group) * shape.filter_tiles * Tile::kBlockM;
#pragma unroll
  for (int j = 0; j < Tile::kTilesN; ++j) {
    const int position = first_position + (warp_n * Tile::kTilesN + j) * 8 + lane % 4 * 2;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (position + e >= shape.positions || (e == 1 && shape.pair_store)) continue;
      int pixel;
      const int64_t n = shape.by_plane.divide(position + e, pixel);
      float* target = y + n * shape.k * shape.plane + static_cast<int64_t>(pixel) * shape.pixel_pitch;
#pragma unroll
      for (int i = 0; i < Tile::kTilesM; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int filter = first_filter + i * 16 + half * 8;
          if (filter >= shape.group_filters) continue;
          const float offset = __ldg(group_bias + filter);
          const int64_t channel = static_cast<int64_t>(group) * shape.group_filters + filter;
          const float first = relu_if(shape.relu, sums[i][j][half * 2] + offset);
          const float second = relu_if(shape.relu, sums[i][j][half * 2 + 1] + offset);
          float* place = target + channel * shape.filter_pitch;
          if (shape.pair_store) {
            *reinterpret_cast<float2*>(place) = make_float2(first, second);
          } else {
            *place = e == 0 ? first : second;
          }
        }
      }
    }
  }
#endif
}

}  // namespace lenslet
