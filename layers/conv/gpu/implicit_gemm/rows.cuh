// Implicit GEMM for filters three taps wide: the three taps of a filter row read one stretch of an input row.
//
//   y [K/G, N*P*Q] = w [K/G, C/G*R*3] x im2col(x) [C/G*R*3, N*P*Q], for each group
// Rows (c, r, 0), (c, r, 1) and (c, r, 2) of the im2col matrix are one input row, shifted. So a block copies that row
// once, 16 bytes at a time, and a thread reads six neighbours for four positions and three taps. For this the columns
// of the matrix count input columns: W per output row, of which the last W - Q are computed and dropped. Asynchronous
// copies into three stages of shared memory (cp.async, compute capability 8.0) after CUTLASS's multistage pipeline
// (NVIDIA, "CUTLASS: fast linear algebra in CUDA C++", 2017); the idea that neighbouring taps share an input row is
// that of direct convolution, here inside a GEMM's tile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "framework/instructions/async_copy.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/sgemm_tile.cuh"
#include "layers/conv/gpu/store_rectifier.cuh"

namespace lenslet {

/// One input row of a window: channel c, filter row r. Rows added to fill the last step lie nowhere and read
/// as zero.
struct alignas(8) ImplicitGemmRow {
  static constexpr int kNowhere = 1 << 30;
  int offset;  // c*H*W + r*dilation_h*W
  int dh;      // r*dilation_h
};

struct ImplicitGemmRowsShape {
  int h, w, q, plane;      // input plane, output width, P*Q
  int image, group_input;  // C*H*W, C/G*H*W
  int k, group_filters;    // K, K/G
  int filter_pitch;        // K/G rounded up to the block's tile
  int positions;           // N*P*W
  int steps;               // C/G*R over kRows, rounded up
  int stride_h, pad_h;
  FastDivide by_filter_tiles, by_plane, by_w;  // plane: P*W
  StoreRectifier after;
};

/// kPadW: zeros to the left and right of a row, 0 or 1.
template <int kBlockM_, int kBlockN_, int kPadW_>
struct ImplicitGemmRowsTile
    : SgemmTile<kBlockM_, kBlockN_, 24, 8, 8, 4, 512 / (kBlockM_ / 8 * kBlockN_ / 8)> {
  static constexpr int kTaps = 3, kRows = 8, kPadW = kPadW_, kStages = 3;
  static constexpr int kLeft = 4 * kPadW;              // floats before the tile's first column
  static constexpr int kPitch = kLeft + kBlockN_ + 4;  // 16 bytes after the last one
  static constexpr int kChunks = kBlockN_ / 4;         // of 16 bytes, in a row of the tile
  struct Stage {
    float filters[kRows * kTaps][kBlockM_];
    float inputs[kRows][kPitch];
  };
};

/// Copies one step after the other into shared memory: kRows input rows of the tile and their filters.
template <class Tile>
class ImplicitGemmRowsCopy {
 public:
  using Stage = typename Tile::Stage;
  __device__ ImplicitGemmRowsCopy(const ImplicitGemmRowsShape& shape, const float* x, const float* filters,
                                  const ImplicitGemmRow* rows, int first_position, Stage* stages)
      : height_(shape.h), pitch_(shape.filter_pitch) {
    const int thread = threadIdx.x, chunk = thread % Tile::kChunks;
    // Columns past the end read the last ones' input; their sums are never stored.
    int position, w;
    const int n = shape.by_plane.divide(min(first_position + chunk * 4, shape.positions - 4), position);
    h_ = shape.by_w.divide(position, w) * shape.stride_h - shape.pad_h;
    corner_ = x + (static_cast<int64_t>(n) * shape.image + h_ * shape.w + w);
    // A neighbour outside the tile is needed only inside the same input row.
    if (chunk == Tile::kChunks - 1 && w + 4 < shape.w) edge_ = 4;
    if (chunk == 0 && Tile::kPadW == 1 && w > 0) edge_ = -4;
    rows_ = rows + thread / Tile::kChunks;
    filters_ = filters + static_cast<int64_t>(thread / kFilterChunks) * pitch_ + thread % kFilterChunks * 4;
    const uint32_t base = shared_address(stages);
    filter_target_ = base + thread * 16;
    input_target_ = base + kInputs + (thread / Tile::kChunks * Tile::kPitch + Tile::kLeft + chunk * 4) * 4;
    end_ = filter_target_ + Tile::kStages * kStageBytes;
    look_up();
  }
  /// Issues part `turn` of kTurns of one step's copies. Spread over the arithmetic of a step they cause no waiting.
  __device__ __forceinline__ void copy(int turn) const {
#pragma unroll
    for (int i = 0; i < kInputCopies; ++i) {
      if (i * kTurns / kCopies != turn) continue;
      const bool inside = static_cast<unsigned>(h_ + row_[i].dh) < static_cast<unsigned>(height_);
      const float* source = corner_ + row_[i].offset;  // if outside, any address: it is not read
      const uint32_t target = input_target_ + i * kRowsApart * Tile::kPitch * 4;
      copy_async_16_or_zero(target, source, inside);
      const int edge = Tile::kPadW == 0 ? 4 : edge_;  // a constant if possible
      copy_async_16_or_zero_if(edge_ != 0, target + edge * 4, source + edge, inside);
    }
#pragma unroll
    for (int i = 0; i < kFilterCopies; ++i) {
      if ((i + kInputCopies) * kTurns / kCopies != turn) continue;
      copy_async_16(filter_target_ + i * Tile::kThreads * 16,
                    filters_ + static_cast<int64_t>(i) * kFilterRows * pitch_);
    }
  }
  /// On to the next step's rows and filters.
  __device__ __forceinline__ void advance_source() {
    filters_ += static_cast<int64_t>(Tile::kBlockL) * pitch_;
    rows_ += Tile::kRows;
    look_up();
  }
  __device__ __forceinline__ void advance_stage() {
    filter_target_ += kStageBytes;
    input_target_ += kStageBytes;
    if (filter_target_ != end_) return;
    filter_target_ -= Tile::kStages * kStageBytes;
    input_target_ -= Tile::kStages * kStageBytes;
  }

  static constexpr int kTurns = Tile::kBlockL - 1;

 private:
  static constexpr uint32_t kStageBytes = sizeof(Stage), kInputs = offsetof(Stage, inputs);
  static constexpr int kFilterChunks = Tile::kBlockM / 4, kFilterRows = Tile::kThreads / kFilterChunks;
  static constexpr int kFilterCopies = Tile::kBlockL / kFilterRows;
  static constexpr int kRowsApart = Tile::kThreads / Tile::kChunks, kInputCopies = Tile::kRows / kRowsApart;
  static constexpr int kCopies = kFilterCopies + kInputCopies;
  static_assert(Tile::kThreads % kFilterChunks == 0 && Tile::kBlockL % kFilterRows == 0,
                "threads tile the filters");
  static_assert(Tile::kThreads % Tile::kChunks == 0 && Tile::kRows % kRowsApart == 0,
                "threads tile the rows");

  __device__ __forceinline__ void look_up() {
#pragma unroll
    for (int i = 0; i < kInputCopies; ++i) {
      const int2 row = __ldg(reinterpret_cast<const int2*>(rows_ + i * kRowsApart));
      row_[i] = {row.x, row.y};
    }
  }

  const float *corner_, *filters_;  // of this thread's 16 bytes of input and of filters
  const ImplicitGemmRow* rows_;
  int height_, pitch_;
  int h_;
  int edge_ = 0;  // to the neighbour beside the tile, where this thread copies one
  uint32_t filter_target_, input_target_, end_;
  ImplicitGemmRow row_[kInputCopies];
};

// computes    y [N, K, P*Q] = filters [K/G, C/G*R*3] x im2col(x) [C/G*R*3, N*P*W] per group, bias, optional
//             ReLU
// work split  block = kBlockM filters x kBlockN positions (blockIdx.x, filters fastest; blockIdx.y = group),
//             thread = 8 x 8 sums: 4 + 4 filters, 4 + 4 positions
// memory      dynamic shared: kStages times 24 taps of filters and 8 input rows, each with the next 16 bytes;
//             registers: 64 sums, filters of two taps, six inputs for four positions of two rows
// requires    S = 3, stride_w = dilation_w = 1, pad_w = kPadW, W a multiple of 4, N*C*H*W < 2^31, compute
//             capability 8.0 (all checked by implicit_gemm.cu)
// measured    H100, hot: 8 images, 64 channels, 128 x 128, 256 filters 3x3, no padding: 796.4 us = 47.0 TFLOP/s
//             (docs/results/2026-11-27-h100/reproduce.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks) conv_implicit_gemm_rows_kernel(
    const ImplicitGemmRowsShape shape,
    const float* __restrict__ x,               // [N, C, H, W]
    const float* __restrict__ filters,         // [G, steps*24, filter_pitch], zero padded
    const float* __restrict__ bias,            // [G, filter_pitch]
    const ImplicitGemmRow* __restrict__ rows,  // [(steps + kStages) * kRows]
    float* __restrict__ y) {                   // [N, K, P, Q]
#if __CUDA_ARCH__ >= 800
  using Stage = typename Tile::Stage;
  extern __shared__ __align__(16) unsigned char shared[];
  Stage* const stages = reinterpret_cast<Stage*>(shared);
  int filter_tile;
  const int first_position =
      shape.by_filter_tiles.divide(static_cast<int>(blockIdx.x), filter_tile) * Tile::kBlockN;
  const int group = blockIdx.y, first_filter = filter_tile * Tile::kBlockM;
  ImplicitGemmRowsCopy<Tile> copies(
      shape, x + static_cast<int64_t>(group) * shape.group_input,
      filters + static_cast<int64_t>(group) * shape.steps * Tile::kBlockL * shape.filter_pitch + first_filter,
      rows, first_position, stages);
  constexpr int kTurns = ImplicitGemmRowsCopy<Tile>::kTurns;
#pragma unroll
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    if (stage < shape.steps) {
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) copies.copy(turn);
    }
    copies.advance_source();
    commit_copies();
    copies.advance_stage();
  }

  float sums[8][8] = {};
  float a[2][8], b[2][2][6];  // filters of this tap and the next; inputs of this row and the next
  const int row = Tile::row(0), column = Tile::column(0);
  // A group of four positions at either end of an input row has zeros beside it.
  bool left_edge[2] = {}, right_edge[2] = {};
  if constexpr (Tile::kPadW == 1) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      int w;
      shape.by_w.divide(first_position + Tile::column(4 * j), w);
      left_edge[j] = w == 0;
      right_edge[j] = w + 4 == shape.w;
    }
  }
  const auto read_filters = [&](float(&to)[8], const Stage& stage, int tap) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      *reinterpret_cast<float4*>(&to[i]) =
          *reinterpret_cast<const float4*>(&stage.filters[tap][row + i * Tile::kThreadsM]);
    }
  };
  const auto read_inputs = [&](float(&to)[2][6], const Stage& stage, int input_row) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float* source = &stage.inputs[input_row][Tile::kLeft + column + j * 4 * Tile::kThreadsN];
      const float4 four = *reinterpret_cast<const float4*>(source);
      if constexpr (Tile::kPadW == 1) {
        to[j][0] = left_edge[j] ? 0.0f : source[-1];
        to[j][1] = four.x, to[j][2] = four.y, to[j][3] = four.z, to[j][4] = four.w;
        to[j][5] = right_edge[j] ? 0.0f : source[4];
      } else {
        const float2 two = *reinterpret_cast<const float2*>(source + 4);
        to[j][0] = four.x, to[j][1] = four.y, to[j][2] = four.z, to[j][3] = four.w;
        to[j][4] = two.x, to[j][5] = two.y;
      }
    }
  };

  wait_for_copies<Tile::kStages - 2>();
  __syncthreads();
  int current = 0;
  read_inputs(b[0], stages[0], 0);
  read_filters(a[0], stages[0], 0);
#pragma unroll 1
  for (int step = 0; step < shape.steps; ++step) {
    const bool more = step + Tile::kStages - 1 < shape.steps;
#pragma unroll
    for (int l = 0; l < Tile::kBlockL; ++l) {
      const int input_row = l / Tile::kTaps, s = l % Tile::kTaps;
      if (l == Tile::kBlockL - 1) {
        // Also the barrier after which the stage that was read may be overwritten.
        wait_for_copies<Tile::kStages - 2>();
        __syncthreads();
        current = current + 1 == Tile::kStages ? 0 : current + 1;
        read_inputs(b[0], stages[current], 0);
        read_filters(a[0], stages[current], 0);
      } else {
        read_filters(a[(l + 1) & 1], stages[current], l + 1);
        if (s == 1 && input_row + 1 < Tile::kRows)
          read_inputs(b[(input_row + 1) & 1], stages[current], input_row + 1);
        if (more) copies.copy(l);
        if (l == Tile::kBlockL - 2) {
          copies.advance_source();
          commit_copies();
          copies.advance_stage();
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sums[i][j] = fmaf(a[l & 1][i], b[input_row & 1][j / 4][j % 4 + s], sums[i][j]);
      }
    }
  }

  const float* offsets = bias + group * shape.filter_pitch;
  shape.after.apply(sums, [&](int i) {
    const int filter = first_filter + Tile::row(i);
    return filter < shape.group_filters ? __ldg(offsets + filter) : 0.0f;
  });
#pragma unroll
  for (int j = 0; j < 8; j += 4) {
    const int position = first_position + Tile::column(j);
    if (position >= shape.positions) continue;
    int pixel, w;
    const int n = shape.by_plane.divide(position, pixel);
    const int p = shape.by_w.divide(pixel, w);
    if (w >= shape.q) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int filter = first_filter + Tile::row(i);
      if (filter >= shape.group_filters) continue;
      const float offset = shape.after.offset(__ldg(offsets + filter));
      const int64_t channel = static_cast<int64_t>(group) * shape.group_filters + filter;
      float* target = y + (static_cast<int64_t>(n) * shape.k + channel) * shape.plane + p * shape.q + w;
      float out[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) out[e] = relu_if(shape.after.relu, sums[i][j + e] + offset);
      if constexpr (Tile::kPadW == 1) {  // Q = W: whole groups of four
        *reinterpret_cast<float4*>(target) = make_float4(out[0], out[1], out[2], out[3]);
      } else {  // Q = W - 2: the last group of a row has two
        *reinterpret_cast<float2*>(target) = make_float2(out[0], out[1]);
        if (w + 2 < shape.q) *reinterpret_cast<float2*>(target + 2) = make_float2(out[2], out[3]);
      }
    }
  }
#endif
}

}  // namespace lenslet
