// Implicit GEMM whose sums are divided: between the warps of a block, and between the blocks of a cluster.
//
// The im2col matrix is copied asynchronously into stages of shared memory (cp.async), after CUTLASS's multistage
// pipeline (NVIDIA, "CUTLASS: fast linear algebra in CUDA C++", 2017). CUTLASS's names for the two divisions are
// sliced-K and split-K ("Efficient GEMM in CUDA"). Here the blocks of a cluster add their sums through each other's
// shared memory, in the order of their ranks, without a second launch. Formula and source: ../split_gemm.cu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "framework/device/gpu_limits.h"
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/cluster.cuh"
#include "framework/instructions/early_launch.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/implicit_gemm_tap.h"
#include "layers/conv/gpu/store_rectifier.cuh"

namespace lenslet {

struct SplitGemmShape {
  int h, w, area, q, plane;  // input plane, H*W, output width, P*Q
  int image, group_input;    // C*H*W, C/G*H*W
  int k, group_filters;      // K, K/G
  int group_channels;        // C/G
  int filter_pitch;          // K/G rounded up to the block's tile
  int positions;             // N*P*Q
  int steps;                 // of kRows rows of the im2col matrix, of the whole sum
  int channel_steps;         // of one tap; not for a table
  int s;                     // columns of a filter
  int split_k;               // blocks of a cluster, each with about as many steps
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  FastDivide by_split_k, by_group_tiles, by_filter_tiles, by_plane, by_q, by_channel_steps, by_s;
  bool vector_store;  // P*Q is a multiple of 4: four positions lie in one image, 16-byte aligned
  StoreRectifier after;
};

/// Where a block finds its part of the im2col matrix. Its rows are in the order of the packed filters.
enum class SplitGemmGather {
  kPointwise,  ///< 1x1 at stride 1 without padding, planes of a multiple of four: 16 bytes at a time
  kChannels,   ///< tap by tap, the channels of a tap in succession
  kTable       ///< few channels: by a table of taps, as implicit_gemm
};

/// kBlockM filters x kBlockN positions, kSlicedK groups of warps that share the rows of a step, kRows rows of the
/// im2col matrix a step, kStages steps in shared memory. A thread has 8 x 8 sums.
template <int kBlockM_, int kBlockN_, int kSlicedK_, int kRows_, int kStages_>
struct SplitGemmTile {
  static constexpr int kBlockM = kBlockM_, kBlockN = kBlockN_, kSlicedK = kSlicedK_, kRows = kRows_;
  static constexpr int kStages = kStages_,
                       kBlocks = 4;  // of a multiprocessor: at most 128 registers a thread
  static constexpr int kThreadsM = kBlockM / 8, kThreadsN = kBlockN / 8;
  static constexpr int kKGroupThreads = kThreadsM * kThreadsN, kThreads = kKGroupThreads * kSlicedK;
  // Floats of a row of sums in shared memory: two of the eight lanes that store at once share a bank; without the
  // four more floats four would.
  static constexpr int kPitch = kBlockN + 4;
  struct Stage {
    float filters[kRows][kBlockM];
    float inputs[kRows][kBlockN];
  };
  static constexpr size_t kStageBytes = kStages * sizeof(Stage);
  static constexpr size_t kSumBytes = sizeof(float) * kBlockM * kPitch;
  static constexpr size_t kSharedBytes = kStageBytes > kSumBytes ? kStageBytes : kSumBytes;
  static_assert(kThreadsM % 8 == 0 && kThreadsN % 4 == 0, "a warp has 8 x 4 threads of the tile");
};

/// Copies one step after the other of the filters and of the gathered inputs into shared memory.
template <class Tile, SplitGemmGather kGather>
class SplitGemmCopy {
 public:
  using Stage = typename Tile::Stage;
  __device__ SplitGemmCopy(const SplitGemmShape& shape, const float* x, const float* filters,
                           const ImplicitGemmTap* taps, int group, int first_filter, int first_position,
                           int first_step)
      : shape_(shape) {
    const int thread = threadIdx.x;
    filters_ =
        filters +
        ((static_cast<int64_t>(group) * shape.steps + first_step) * Tile::kRows + thread / kFilterChunks) *
            shape.filter_pitch +
        first_filter + thread % kFilterChunks * 4;
    // Positions past the end read the last ones' input; their sums are never stored.
    const int position = min(first_position + thread % kChunks * kWide, shape.positions - kWide);
    int pixel, q, channel_step;
    const int n = shape.by_plane.divide(position, pixel);
    const int p = shape.by_q.divide(pixel, q);
    corner_h_ = p * shape.stride_h - shape.pad_h;
    corner_w_ = q * shape.stride_w - shape.pad_w;
    corner_ = x + (static_cast<int64_t>(n) * shape.image + static_cast<int64_t>(group) * shape.group_input +
                   static_cast<int64_t>(corner_h_) * shape.w + corner_w_);
    row_ = thread / kChunks;
    if constexpr (kGather == SplitGemmGather::kTable) {
      taps_ = taps + first_step * Tile::kRows + row_;
    } else {
      const int tap = shape.by_channel_steps.divide(first_step, channel_step);
      dh_ = shape.by_s.divide(tap, tap_column_) * shape.dilation_h;
      dw_ = tap_column_ * shape.dilation_w;
      first_channel_ = channel_step * Tile::kRows;
    }
  }
  /// Starts to copy the next step's filters, [kRows, kBlockM].
  __device__ __forceinline__ void copy_filters(Stage& stage) {
    const uint32_t target = shared_address(stage.filters) + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < kFilterCopies; ++i) {
      copy_async_16(target + i * Tile::kThreads * 16,
                    filters_ + static_cast<int64_t>(i) * kFilterRows * shape_.filter_pitch);
    }
    filters_ += static_cast<int64_t>(Tile::kRows) * shape_.filter_pitch;
  }
  /// Starts to copy the next step's inputs, [kRows, kBlockN]: zero outside the image and past the last row.
  __device__ __forceinline__ void copy_inputs(Stage& stage) {
    const uint32_t target = shared_address(stage.inputs) + threadIdx.x * (4 * kWide);
    if constexpr (kGather == SplitGemmGather::kTable) {
#pragma unroll 4  // all entries at once would not fit the registers
      for (int i = 0; i < kCopies; ++i) {
        const int4 tap = __ldg(reinterpret_cast<const int4*>(taps_ + i * kRowsApart));
        copy_async_4_or_zero(target + i * Tile::kThreads * 4, corner_ + tap.x, inside(tap.y, tap.z));
      }
      taps_ += Tile::kRows;
      return;
    }
    const int channel = first_channel_ + row_;
    const float* source = corner_ + (static_cast<int64_t>(channel) * shape_.area + (dh_ * shape_.w + dw_));
    const bool whole = kGather == SplitGemmGather::kPointwise || inside(dh_, dw_);
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool exists = whole && channel + i * kRowsApart < shape_.group_channels;
      if constexpr (kGather == SplitGemmGather::kPointwise) {
        copy_async_16_or_zero(target + i * Tile::kThreads * 16,
                              source + int64_t{i * kRowsApart} * shape_.area, exists);
      } else {
        copy_async_4_or_zero(target + i * Tile::kThreads * 4, source + int64_t{i * kRowsApart} * shape_.area,
                             exists);
      }
    }
    first_channel_ += Tile::kRows;
    if (kGather == SplitGemmGather::kChannels && first_channel_ == shape_.channel_steps * Tile::kRows)
      next_tap();
  }

 private:
  static constexpr int kFilterChunks = Tile::kBlockM / 4, kFilterRows = Tile::kThreads / kFilterChunks;
  static constexpr int kFilterCopies = Tile::kRows / kFilterRows;
  static constexpr int kWide = kGather == SplitGemmGather::kPointwise ? 4 : 1;  // floats of a copy
  static constexpr int kChunks = Tile::kBlockN / kWide, kRowsApart = Tile::kThreads / kChunks;
  static constexpr int kCopies = Tile::kRows / kRowsApart;
  static_assert(Tile::kThreads % kFilterChunks == 0 && Tile::kRows % kFilterRows == 0,
                "threads tile the filters");
  static_assert(Tile::kThreads % kChunks == 0 && Tile::kRows % kRowsApart == 0, "threads tile the inputs");

  __device__ __forceinline__ bool inside(int dh, int dw) const {
    return static_cast<unsigned>(corner_h_ + dh) < static_cast<unsigned>(shape_.h) &&
           static_cast<unsigned>(corner_w_ + dw) < static_cast<unsigned>(shape_.w);
  }
  __device__ __forceinline__ void next_tap() {
    first_channel_ = 0;
    dw_ += shape_.dilation_w;
    if (++tap_column_ < shape_.s) return;
    tap_column_ = dw_ = 0;
    dh_ += shape_.dilation_h;
  }

  const SplitGemmShape& shape_;
  const float *filters_, *corner_;
  const ImplicitGemmTap* taps_ = nullptr;
  int corner_h_, corner_w_, row_;
  int first_channel_ = 0, tap_column_ = 0, dh_ = 0, dw_ = 0;  // of the next step
};

// computes    y [N, K, P*Q] = filters [K/G, R*S*C/G] x im2col(x) [R*S*C/G, N*P*Q] per group, bias, any rectifier
// work split  cluster = kBlockM filters x kBlockN output positions of a group (blockIdx.x, filters fastest); block =
//             one of `split_k` parts of the sum; group of warps = kRows / kSlicedK rows of each step; thread = 8 x 8
//             sums, 4 + 4 filters and 4 + 4 positions
// memory      dynamic shared: kStages times kRows rows of filters and inputs, filled by cp.async; then the block's sums
//             [kBlockM, kPitch]; registers: 64 sums, filters and inputs of two rows
// requires    compute capability 9.0; kPointwise: R = S = 1, stride 1, no padding, H*W a multiple of 4 (all checked by
//             split_gemm.cu)
// measured    H200, hot: 64 images, 512 channels, 28 x 28, 256 filters 1x1: 284.8 us = 46.2 TFLOP/s; 1 image, 64
//             channels, 56 x 56, 64 filters 3x3: 11.90 us (docs/results/2026-11-30-h200/resnet50-fp32.json)
template <class Tile, SplitGemmGather kGather>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    conv_split_gemm_kernel(const SplitGemmShape shape,
                           const float* __restrict__ x,        // [N, C, H, W]
                           const float* __restrict__ filters,  // [G, steps*kRows, filter_pitch], zero padded
                           const float* __restrict__ bias,     // [G, filter_pitch]
                           const ImplicitGemmTap* __restrict__ taps,  // [steps*kRows] for kTable, else null
                           float* __restrict__ y) {                   // [N, K, P, Q]
#if __CUDA_ARCH__ >= 900
  using Stage = typename Tile::Stage;
  extern __shared__ __align__(16) unsigned char split_gemm_shared[];
  Stage* const stages = reinterpret_cast<Stage*>(split_gemm_shared);
  let_next_launch_begin();
  int rank, group_tile, filter_tile;
  const int tile = shape.by_split_k.divide(static_cast<int>(blockIdx.x), rank);
  const int group = shape.by_group_tiles.divide(tile, group_tile);
  const int first_position = shape.by_filter_tiles.divide(group_tile, filter_tile) * Tile::kBlockN;
  const int first_filter = filter_tile * Tile::kBlockM;
  const int first_step = shape.steps * rank / shape.split_k;
  const int steps = shape.steps * (rank + 1) / shape.split_k - first_step;
  SplitGemmCopy<Tile, kGather> copies(shape, x, filters, taps, group, first_filter, first_position,
                                      first_step);
  // Filters are older than the launch before: they need not wait for it.
#pragma unroll
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    if (stage < steps) copies.copy_filters(stages[stage]);
  }
  wait_for_launch_before();
#pragma unroll
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    if (stage < steps) copies.copy_inputs(stages[stage]);
    commit_copies();
  }

  // Lanes that differ in bit 0 share filters, lanes that differ in bit 1 share positions: only then does a warp's
  // 16-byte load from shared memory take two passes for either operand.
  const int k_group = threadIdx.x / Tile::kKGroupThreads, warp = threadIdx.x % Tile::kKGroupThreads / 32;
  const int lane = threadIdx.x % 32, lane_m = lane >> 1 & 7, lane_n = (lane & 1) | lane >> 4 << 1;
  constexpr int kWarpsN = Tile::kThreadsN / 4;
  const int row = (warp / kWarpsN * 8 + lane_m) * 4, column = (warp % kWarpsN * 4 + lane_n) * 4;
  // The row of sum i and the column of sum j, from `row` and `column` on.
  const auto row_of = [](int i) { return i / 4 * 4 * Tile::kThreadsM + i % 4; };
  const auto column_of = [](int j) { return j / 4 * 4 * Tile::kThreadsN; };
  constexpr int kOwnRows = Tile::kRows / Tile::kSlicedK;
  float sums[8][8] = {};
  float a[2][8], b[2][8];  // filters and inputs of this row and the next
  int current = 0, filled = Tile::kStages - 1;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    // Also the barrier after which the stage that was read last may be overwritten.
    wait_for_copies<Tile::kStages - 2>();
    __syncthreads();
    const Stage& stage = stages[current];
    const auto read = [&](int l) {
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        *reinterpret_cast<float4*>(&a[l & 1][i]) =
            *reinterpret_cast<const float4*>(&stage.filters[k_group * kOwnRows + l][row + row_of(i)]);
        *reinterpret_cast<float4*>(&b[l & 1][i]) =
            *reinterpret_cast<const float4*>(&stage.inputs[k_group * kOwnRows + l][column + column_of(i)]);
      }
    };
    read(0);
    if (step + Tile::kStages - 1 < steps) {
      copies.copy_filters(stages[filled]);
      copies.copy_inputs(stages[filled]);
    }
    commit_copies();
    filled = current;
    current = current + 1 == Tile::kStages ? 0 : current + 1;
#pragma unroll
    for (int l = 0; l < kOwnRows; ++l) {
      if (l + 1 < kOwnRows) read(l + 1);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(a[l & 1][i], b[l & 1][j], sums[i][j]);
      }
    }
  }

  const float* offsets = bias + static_cast<int64_t>(group) * shape.filter_pitch;
  const float floor = output_floor(shape.after.relu);
  // Stores four positions of the tile's row `m` from column `n` on.
  const auto store = [&](int m, int n, const float4& four) {
    const int filter = first_filter + m, position = first_position + n;
    if (filter >= shape.group_filters || position >= shape.positions) return;
    const float offset = __ldg(offsets + filter);
    float out[4] = {four.x + offset, four.y + offset, four.z + offset, four.w + offset};
    // ReLU is one instruction a value, any other rectifier several: behind one branch for all.
    if (shape.after.other) {
#pragma unroll
      for (float& value : out) value = shape.after.after.of(value);
    } else {
#pragma unroll
      for (float& value : out) value = max_keep_nan(value, floor);
    }
    const int64_t channel = static_cast<int64_t>(group) * shape.group_filters + filter;
    int pixel;
    const int image = shape.by_plane.divide(position, pixel);
    if (shape.vector_store) {
      float* target = y + (static_cast<int64_t>(image) * shape.k + channel) * shape.plane + pixel;
      *reinterpret_cast<float4*>(target) = make_float4(out[0], out[1], out[2], out[3]);
      return;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (position + e >= shape.positions) continue;
      // Past the end of this image the position belongs to a later one.
      const int other = shape.by_plane.divide(position + e, pixel);
      y[(static_cast<int64_t>(other) * shape.k + channel) * shape.plane + pixel] = out[e];
    }
  };
  const auto four_sums = [&](int i, int j) {
    return make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
  };
  if (Tile::kSlicedK == 1 && shape.split_k == 1) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; j += 4) store(row + row_of(i), column + column_of(j), four_sums(i, j));
    }
    return;
  }

  __syncthreads();  // the sums lie where the stages were
  float* const block_sums = reinterpret_cast<float*>(split_gemm_shared);
#pragma unroll
  for (int turn = 0; turn < Tile::kSlicedK; ++turn) {
    if (k_group == turn) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
          auto* const at = reinterpret_cast<float4*>(block_sums + (row + row_of(i)) * Tile::kPitch + column +
                                                     column_of(j));
          float4 four = four_sums(i, j);
          if (turn > 0) {
            const float4 before = *at;
            four = make_float4(before.x + four.x, before.y + four.y, before.z + four.z, before.w + four.w);
          }
          *at = four;
        }
      }
    }
    if (turn + 1 < Tile::kSlicedK) __syncthreads();
  }
  if (shape.split_k == 1) {
    __syncthreads();
    for (int i = threadIdx.x; i < Tile::kBlockM * (Tile::kBlockN / 4); i += Tile::kThreads) {
      const int m = i / (Tile::kBlockN / 4), n = i % (Tile::kBlockN / 4) * 4;
      store(m, n, *reinterpret_cast<const float4*>(block_sums + m * Tile::kPitch + n));
    }
    return;
  }
  // A block stores its part of the rows, for which it reads the sums of every block.
  cluster_arrive();
  cluster_wait();
  const int own_first = Tile::kBlockM * rank / shape.split_k;
  const int own_rows = Tile::kBlockM * (rank + 1) / shape.split_k - own_first;
  for (int i = threadIdx.x; i < own_rows * (Tile::kBlockN / 4); i += Tile::kThreads) {
    const int m = own_first + i / (Tile::kBlockN / 4), n = i % (Tile::kBlockN / 4) * 4;
    const uint32_t at = shared_address(block_sums + m * Tile::kPitch + n);
    // All loads first: each takes longer than all additions.
    float4 parts[GpuLimits::kPortableCluster];
#pragma unroll
    for (int other = 0; other < GpuLimits::kPortableCluster; ++other) {
      if (other < shape.split_k) parts[other] = load_in_cluster(in_block(at, other));
    }
    float4 sum = parts[0];
#pragma unroll
    for (int other = 1; other < GpuLimits::kPortableCluster; ++other) {
      if (other >= shape.split_k) break;
      const float4& part = parts[other];
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
    }
    store(m, n, sum);
  }
  // A block that ended would take its sums with it.
  cluster_arrive();
  cluster_wait();
#endif
}

}  // namespace lenslet
