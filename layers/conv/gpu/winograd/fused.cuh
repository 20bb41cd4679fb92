// F(4x4, 3x3) Winograd convolution whose products stay on the multiprocessor: an input transform, then one kernel for
// the 36 matrix products over the channels, output transform, bias and ReLU.
//
// After the fused kernels of A. Lavin and S. Gray, arXiv:1509.09308 (2015), section 5, and of D. Yan, W. Wang
// and X. Chu, "Optimizing batched Winograd convolution on GPUs", PPoPP 2020. Both take F(2x2, 3x3) and hold
// 16 positions of a tile. Here a block holds 36 in registers, 96 sums per thread. A separate kernel transforms the
// inputs, because K / 32 blocks read them: transforming them each time would cost more than writing and reading 2.25
// times their size once.
//
// Tiles of 4x4 outputs are numbered over images, then rows, then columns. 32 tiles are a tile block, 32
// filters a filter block; position (i, j) of a transformed tile is row i, column j. Both operands lie as
// [block, 6, channels, 6, 32]: row, channel, column, tile or filter, so that what a pair of warps reads of a
// row is contiguous.
#pragma once

#include <cstdint>

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/keep_nan.h"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/winograd/transforms.cuh"

namespace lenslet {

struct WinogradFusedShape {
  int c, h, w, k, p, q;
  int pad_h, pad_w;
  int channels;  // C rounded up to kWinogradFusedChannels; the rest is zero
  int tiles;     // of the whole batch
  FastDivide by_tile_columns, by_tile_rows, by_filter_blocks;
  bool relu;
};

constexpr int kWinogradFusedEdge = 6;        // of a transformed tile
constexpr int kWinogradFusedTiles = 32;      // of a tile block
constexpr int kWinogradFusedFilters = 32;    // of a filter block
constexpr int kWinogradFusedChannels = 8;    // of the largest stage
constexpr int kWinogradFusedInputWarps = 4;  // of a block; a divisor of the channels, so that none idles
constexpr int kWinogradFusedWarps = 12;      // two for each row of a transformed tile
constexpr int kWinogradFusedThreads = 32 * kWinogradFusedWarps;
// One channel of a row of positions: [6, 32].
constexpr int kWinogradFusedRow = kWinogradFusedEdge * 32;
// Rows of products after A on the right: [6, filters, 4 * tiles].
constexpr int kWinogradFusedExchange = kWinogradFusedEdge * kWinogradFusedFilters * 4 * kWinogradFusedTiles;

// computes    V [tile blocks, 6, channels, 6, 32] = B^T d B for the 6x6 input patch d of each tile; tiles past
//             the last and channels past C are written as zero
// work split  thread = one tile of one channel; warp = the 32 tiles of a block (blockIdx.x, from first_block
//             on); warps and blockIdx.y walk the channels
// memory      no shared memory: patches overlap by two, neighbours find their inputs in L1; stores are whole
//             lines
// requires    kAligned: W % 4 == 0 and no padding left and right, so that a row of a patch is a float4 and a
//             float2 (the constructor of WinogradFused chooses)
// measured    with the products: see conv_winograd_fused_kernel
template <bool kAligned>
__global__ void __launch_bounds__(32 * kWinogradFusedInputWarps) conv_winograd_fused_input_kernel(
    const WinogradFusedShape shape, int first_block,
    const float* __restrict__ x,        // [N, C, H, W]
    float* __restrict__ transformed) {  // V [tile blocks, 6, channels, 6, 32]
  constexpr int kEdge = kWinogradFusedEdge;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tile = (first_block + static_cast<int>(blockIdx.x)) * kWinogradFusedTiles + lane;
  int tile_row, tile_column;
  const int n = shape.by_tile_rows.divide(shape.by_tile_columns.divide(tile, tile_column), tile_row);
  const int h0 = 4 * tile_row - shape.pad_h, w0 = 4 * tile_column - shape.pad_w;
  const int channel_step = static_cast<int>(gridDim.y) * kWinogradFusedInputWarps;
  for (int c = blockIdx.y * kWinogradFusedInputWarps + warp; c < shape.channels; c += channel_step) {
    const bool exists = c < shape.c && tile < shape.tiles;
    const float* plane = x + (static_cast<int64_t>(n) * shape.c + c) * shape.h * shape.w;
    float half[kEdge][kEdge];  // d B, row by row
#pragma unroll
    for (int i = 0; i < kEdge; ++i) {
      const int h = h0 + i;
      const bool row_inside = exists && h >= 0 && h < shape.h;
      float d[kEdge] = {};
      if (kAligned) {
        const float* row = plane + h * shape.w + w0;
        if (row_inside) {
          const float4 left = __ldg(reinterpret_cast<const float4*>(row));
          d[0] = left.x, d[1] = left.y, d[2] = left.z, d[3] = left.w;
        }
        if (row_inside && w0 + 4 < shape.w) {
          const float2 right = __ldg(reinterpret_cast<const float2*>(row + 4));
          d[4] = right.x, d[5] = right.y;
        }
      } else {
#pragma unroll
        for (int j = 0; j < kEdge; ++j) {
          const int w = w0 + j;
          if (row_inside && w >= 0 && w < shape.w) d[j] = __ldg(plane + h * shape.w + w);
        }
      }
      Winograd<4, 3>::input(d, half[i]);
    }
    const int64_t row_pitch = static_cast<int64_t>(shape.channels) * kWinogradFusedRow;
    float* target =
        transformed + blockIdx.x * kEdge * row_pitch + static_cast<int64_t>(c) * kWinogradFusedRow + lane;
#pragma unroll
    for (int j = 0; j < kEdge; ++j) {
      float column[kEdge], v[kEdge];
#pragma unroll
      for (int i = 0; i < kEdge; ++i) column[i] = half[i][j];
      Winograd<4, 3>::input(column, v);
#pragma unroll
      for (int i = 0; i < kEdge; ++i) target[i * row_pitch + j * 32] = v[i];
    }
  }
}

/// sums += a x b.
__device__ __forceinline__ void winograd_outer_product(const float4& a4, const float4& b4,
                                                       float (&sums)[4][4]) {
  const float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
  }
}

/// Which four filters (0..7) and which four tiles (0..3) of a warp's 32 x 16 a lane sums. Lanes that differ
/// in bit 0 share filters, lanes that differ in bit 1 share tiles: so a warp's 16-byte load from shared memory
/// takes two passes for either operand. With lanes in rows and columns one operand takes two, the other four.
__device__ __forceinline__ int winograd_lane_filters(int lane) { return lane >> 1 & 7; }
__device__ __forceinline__ int winograd_lane_tiles(int lane) { return (lane & 1) | lane >> 4 << 1; }

/// Where float4 `vector` (0..31) of filter `filter` lies in a row of the exchange: turned by the filter, so
/// that eight lanes that store at once hit eight different groups of banks.
__device__ __forceinline__ int winograd_exchange_slot(int filter, int vector) {
  return vector ^ (filter >> 2 & 3);
}

// A warp stores the outputs of every third filter, 32 neighbours of the four rows of each tile.
constexpr int kWinogradStoreStep = kWinogradFusedWarps / 4;

/// y = A^T (products A) + bias, optional ReLU, of 32 filters from block_filter and 32 tiles from first_tile
/// on; `exchange` [6, 32, 128] holds products A. `shift` of lane i is the bias of the warp's filter number i.
__device__ __forceinline__ void winograd_store_outputs(const WinogradFusedShape& shape, const float* exchange,
                                                       int first_tile, int block_filter, float shift,
                                                       float* y) {
  constexpr int kEdge = kWinogradFusedEdge;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // A lane's column of outputs is the same for all of its filters.
  const int vector = warp % 4 * 8 + lane / 4, tile = first_tile + vector;
  int tile_row, tile_column;
  const int n = shape.by_tile_rows.divide(shape.by_tile_columns.divide(tile, tile_column), tile_row);
  const int p0 = 4 * tile_row, q = 4 * tile_column + lane % 4;
  const int rows = tile < shape.tiles && q < shape.q ? shape.p - p0 : 0;  // outputs that exist
  const int filter_count = min(kWinogradFusedFilters, shape.k - block_filter);
  const int64_t plane = static_cast<int64_t>(shape.p) * shape.q;
  float* target = y + (static_cast<int64_t>(n) * shape.k + block_filter + warp / 4) * plane +
                  static_cast<int64_t>(p0) * shape.q + q;
#pragma unroll 1
  for (int i = 0, filter = warp / 4; filter < filter_count; ++i, filter += kWinogradStoreStep) {
    const float* source =
        exchange + (filter * kWinogradFusedTiles + winograd_exchange_slot(filter, vector)) * 4 + lane % 4;
    float m[kEdge], column[4];
#pragma unroll
    for (int row = 0; row < kEdge; ++row) m[row] = source[row * (kWinogradFusedExchange / kEdge)];
    Winograd<4, 3>::output(m, column);
    const float filter_shift = __shfl_sync(kAllLanes, shift, i);
#pragma unroll
    for (int row = 0; row < 4; ++row) {
      if (row < rows) target[row * shape.q] = relu_if(shape.relu, column[row] + filter_shift);
    }
    target += kWinogradStoreStep * plane;
  }
}

// computes    y = A^T [sum over c of U * V] A + bias, optional ReLU
// work split  block = 32 filters x 32 tiles (blockIdx.x, filters fastest, so that V is read while it is in
//             L2); pair of warps = the six positions of one row, each warp 16 tiles; thread = 6 positions x 4
//             filters x 4 tiles, 96 sums in registers
// memory      shared, one use after the other: two stages of kChannels channels a pair, [U, V]
//             [kChannels, 6, 32] each, filled by cp.async while the other is computed with, and a pair waits
//             for no other; then the products with A applied on the right [6, 32, 128], gathered over rows
// requires    compute capability 8.0, channels a multiple of kChannels, both operands padded to whole blocks
//             (by winograd/fused_launch.cuh)
// measured    H100, hot, with the input transform: 8 images, 64 channels, 128 x 128, 256 filters: 327.0 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int kChannels>
__global__ void __launch_bounds__(kWinogradFusedThreads, 1)
    conv_winograd_fused_kernel(const WinogradFusedShape shape, int first_block,
                               const float* __restrict__ filters,  // U [filter blocks, 6, channels, 6, 32]
                               const float* __restrict__ transformed,  // V [tile blocks, 6, channels, 6, 32]
                               const float* __restrict__ bias,         // [K]
                               float* __restrict__ y) {                // [N, K, P, Q]
#if __CUDA_ARCH__ >= 800
  constexpr int kEdge = kWinogradFusedEdge, kRow = kWinogradFusedRow;
  constexpr int kOperand = kChannels * kRow, kStage = 2 * kOperand;  // floats
  constexpr int kCopies = kOperand / 4 / 64;                         // float4 a thread, of each operand
  static_assert(kOperand % (4 * 64) == 0 && kWinogradFusedChannels % kChannels == 0, "whole stages");
  extern __shared__ float4 winograd_fused_shared[];
  float* const shared = reinterpret_cast<float*>(winograd_fused_shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pair = warp / 2;
  const int first_filter = winograd_lane_filters(lane) * 4;
  const int first_tile = warp % 2 * 16 + winograd_lane_tiles(lane) * 4;
  int filter_block;
  const int tile_block = shape.by_filter_blocks.divide(static_cast<int>(blockIdx.x), filter_block);

  const int64_t pair_floats = static_cast<int64_t>(shape.channels) * kRow;
  const int copy = threadIdx.x % 64 * 4;
  const float* next_u = filters + (filter_block * kEdge + pair) * pair_floats + copy;
  const float* next_v = transformed + (static_cast<int64_t>(tile_block) * kEdge + pair) * pair_floats + copy;
  float* const stages = shared + pair * 2 * kStage;
  const auto fetch = [&](int stage) {
    const uint32_t target = shared_address(stages + stage * kStage + copy);
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      copy_async_16(target + i * 1024, next_u + i * 256);
      copy_async_16(target + kOperand * 4 + i * 1024, next_v + i * 256);
    }
    next_u += kOperand;
    next_v += kOperand;
  };

  // The bias of filter warp / 4 + 3 * lane, loaded long before its use: see winograd_store_outputs.
  const int block_filter = filter_block * kWinogradFusedFilters;
  const int shift_filter = block_filter + warp / 4 + lane * kWinogradStoreStep;
  const float shift = lane < kWinogradFusedFilters / kWinogradStoreStep + 1 && shift_filter < shape.k
                          ? __ldg(bias + shift_filter)
                          : 0.0f;

  float sums[kEdge][4][4] = {};
  fetch(0);
  commit_copies();
  const int steps = shape.channels / kChannels;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<0>();
    asm volatile("bar.sync %0, 64;" ::"r"(1 + pair) : "memory");  // this pair of warps alone
    if (step + 1 < steps) fetch((step + 1) % 2);
    commit_copies();
    const float* u = stages + step % 2 * kStage + first_filter;
    const float* v = stages + step % 2 * kStage + kOperand + first_tile;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
#pragma unroll
      for (int j = 0; j < kEdge; ++j) {
        winograd_outer_product(*reinterpret_cast<const float4*>(u + c * kRow + j * 32),
                               *reinterpret_cast<const float4*>(v + c * kRow + j * 32), sums[j]);
      }
    }
  }
  __syncthreads();  // the stages have been read, their memory is the exchange's from here on

#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      float m[kEdge], four[4];
#pragma unroll
      for (int j = 0; j < kEdge; ++j) m[j] = sums[j][i][t];
      Winograd<4, 3>::output(m, four);
      const int slot = winograd_exchange_slot(first_filter, first_tile + t);
      winograd_fused_shared[(pair * kWinogradFusedFilters + first_filter + i) * kWinogradFusedTiles + slot] =
          make_float4(four[0], four[1], four[2], four[3]);
    }
  }
  __syncthreads();

  winograd_store_outputs(shape, shared, (first_block + tile_block) * kWinogradFusedTiles, block_filter, shift,
                         y);
#endif
}

/// Dynamic shared memory of conv_winograd_fused_kernel<channels>: stages of six pairs, or the exchange.
constexpr size_t winograd_fused_shared_bytes(int channels) {
  const size_t stages = size_t{2} * 2 * kWinogradFusedEdge * channels * kWinogradFusedRow;
  return sizeof(float) * (stages > kWinogradFusedExchange ? stages : kWinogradFusedExchange);
}

}  // namespace lenslet
