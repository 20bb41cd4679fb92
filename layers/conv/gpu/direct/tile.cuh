// Direct convolution by tiles: a block stages an input tile of a few channels and their filters in shared memory, and
// each thread keeps kColumns neighbouring outputs of kOut filters in registers, so that a loaded input feeds kOut*S
// multiply-adds and a loaded weight feeds kColumns. A max pooling of 2x2 windows with stride 2 that follows happens in
// those registers. Formula and sources: ../direct.cu.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>
#include <type_traits>

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

constexpr int kDirectTileThreads = 128;  // at most; fewer if that gives work to more multiprocessors
constexpr int kDirectTileBlocks = 4;  // of a multiprocessor at least: a thread then has at most 128 registers

/// The problem and how a block cuts it: threads = filter_groups x images x row_patches x column_patches, a patch being
/// kRows x kColumns outputs of kOut filters.
struct DirectTileShape {
  int n, c, h, w, k, p, q;
  int pad_h, pad_w;
  int filter_groups, images, row_patches, column_patches;  // of one block
  int row_tiles, column_tiles;                             // of one image
  int chunk;                                               // channels staged at a time
  int tile_h, pitch;  // staged rows, and floats per row (a multiple of 4)
  int lanes;          // threads that copy one row, a power of two
  FastDivide by_images, by_column_patches, by_row_patches, by_tile_h, by_chunk, by_row_tiles, by_column_tiles;
  bool contiguous;    // the tile is whole unpadded images with all channels: one straight copy
  bool vector_store;  // rows of y begin at a multiple of what a thread stores of them
  bool relu;
};

/// Starts to copy channels [c0, c0 + chunk) of the block's input tile to `tile` [images, chunk, tile_h, pitch], zero
/// outside: asynchronously from compute capability 8.0 on, so that all of it is in flight at once.
__device__ __forceinline__ void stage_direct_tile(const DirectTileShape& shape, const float* __restrict__ x,
                                                  int n0, int h0, int w0, int c0, float* tile) {
  if (shape.contiguous) {
    const int image = shape.c * shape.h * shape.w;
    const int count = min(shape.images, shape.n - n0) * image / 4;
    const float4* source = reinterpret_cast<const float4*>(x + static_cast<int64_t>(n0) * image);
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      __pipeline_memcpy_async(reinterpret_cast<float4*>(tile) + i, source + i, sizeof(float4));
    }
    return;
  }
  const int lane = threadIdx.x & (shape.lanes - 1);
  const int copiers = blockDim.x / shape.lanes;
  const int staged_rows = shape.images * shape.chunk * shape.tile_h;
  for (int row = threadIdx.x / shape.lanes; row < staged_rows; row += copiers) {
    int i, c;
    const int image = shape.by_chunk.divide(shape.by_tile_h.divide(row, i), c);
    const int h = h0 + i;
    const bool inside = n0 + image < shape.n && c0 + c < shape.c && h >= 0 && h < shape.h;
    const float* source = x + ((static_cast<int64_t>(n0 + image) * shape.c + c0 + c) * shape.h + h) * shape.w;
    for (int column = lane; column < shape.pitch; column += shape.lanes) {
      const int w = w0 + column;
      const bool exists = inside && w >= 0 && w < shape.w;
      __pipeline_memcpy_async(tile + row * shape.pitch + column, exists ? source + w : x, sizeof(float),
                              exists ? 0 : sizeof(float));
    }
  }
}

/// Loads kCount contiguous floats of shared memory to registers: as float4, or as one float2.
template <int kCount>
__device__ __forceinline__ void load_together(const float* source, float (&values)[kCount]) {
  if constexpr (kCount % 4 == 0) {
#pragma unroll
    for (int k = 0; k < kCount; k += 4) {
      const float4 four = *reinterpret_cast<const float4*>(source + k);
      values[k] = four.x;
      values[k + 1] = four.y;
      values[k + 2] = four.z;
      values[k + 3] = four.w;
    }
  } else {
    static_assert(kCount == 2, "read as float4 or as one float2");
    const float2 two = *reinterpret_cast<const float2*>(source);
    values[0] = two.x;
    values[1] = two.y;
  }
}

/// One thread's finished sums: image n, kOut filters from first_filter on, rows from p0, columns from q0 on.
template <int kOut, int kRows, int kColumns>
struct DirectTilePatch {
  float sums[kOut][kRows][kColumns];
  int n, first_filter, p0, q0;

  /// Stores them as they are.
  __device__ __forceinline__ void store(const DirectTileShape& shape, float* __restrict__ y) const {
#pragma unroll
    for (int k = 0; k < kOut; ++k) {
      if (first_filter + k >= shape.k) continue;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        if (p0 + i >= shape.p) continue;
        float* target =
            y + ((static_cast<int64_t>(n) * shape.k + first_filter + k) * shape.p + p0 + i) * shape.q + q0;
#pragma unroll
        for (int j = 0; j < kColumns; j += 4) {
          float out[4];
#pragma unroll
          for (int e = 0; e < 4; ++e) out[e] = relu_if(shape.relu, sums[k][i][j + e]);
          const int count = shape.q - q0 - j;
          store_four(target + j, out, shape.vector_store && count >= 4, count);
        }
      }
    }
  }

  /// Stores the maxima of 2x2 of them: planes of P/2 x Q/2.
  __device__ __forceinline__ void store_halves(const DirectTileShape& shape, float* __restrict__ y) const {
    static_assert(kRows % 2 == 0 && kColumns % 4 == 0, "a thread holds whole windows");
    const float floor = output_floor(shape.relu);
    const int rows = shape.p / 2, columns = shape.q / 2;
#pragma unroll
    for (int k = 0; k < kOut; ++k) {
      if (first_filter + k >= shape.k) continue;
      const int64_t plane = static_cast<int64_t>(n) * shape.k + first_filter + k;
#pragma unroll
      for (int i = 0; i < kRows; i += 2) {
        const int p = (p0 + i) / 2;
        if (p >= rows) continue;
        float* target = y + (plane * rows + p) * columns + q0 / 2;
#pragma unroll
        for (int j = 0; j < kColumns; j += 4) {
          const float left = max_of_2x2(floor, sums[k][i], sums[k][i + 1], j);
          const float right = max_of_2x2(floor, sums[k][i], sums[k][i + 1], j + 2);
          const int count = columns - (q0 + j) / 2;
          if (shape.vector_store && count >= 2) {
            *reinterpret_cast<float2*>(target + j / 2) = make_float2(left, right);
          } else {
            if (count >= 1) target[j / 2] = left;
            if (count >= 2) target[j / 2 + 1] = right;
          }
        }
      }
    }
  }
};

// computes    y [N, K, P, Q] of x [N, C, H, W], filters RxS, any padding, bias, optional ReLU; with kPool the maxima
//             of 2x2 windows of that, stride 2
// work split  block = filter_groups*kOut filters (blockIdx.y) of an output tile or of several small images
//             (blockIdx.x); thread = kRows x kColumns outputs of kOut filters, all in registers
// memory      shared: input tile [images, chunk, tile_h, pitch], then filters [filter_groups, chunk, R, S,
//             kOut]
// requires    stride kStride both ways, no dilation, one group; kColumns a multiple of 4 (checked by
//             direct/tile_launch.cuh)
// measured    H200, hot: LeNet's conv2, batch 1,024: 11.3 us (docs/results/2026-11-30-h200/ladder.json)
//             H100, hot: 8 images, 128 channels, 56 x 56, 128 filters 3x3: 328.0 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int R, int S, int kStride, int kOut, int kRows, int kColumns, bool kPool>
__global__ void __launch_bounds__(kDirectTileThreads, kDirectTileBlocks) conv_direct_tile_kernel(
    const DirectTileShape shape,
    const float* __restrict__ x,        // [N, C, H, W]
    const float* __restrict__ filters,  // [K tiles, chunks, filter_groups, chunk, R, S, kOut], zero padded
    const float* __restrict__ bias,     // [K tiles, filter_groups, kOut]
    float* __restrict__ y) {            // [N, K, P, Q]
  // Floats that a thread reads of an input row.
  constexpr int kReadColumns = ((kColumns - 1) * kStride + S + 3) / 4 * 4;
  constexpr int kMaxUnrolled = 600;  // multiply-adds of a loop body that stays inside the instruction cache
  constexpr int kUnrollRows = R * S * kOut * kRows * kColumns > kMaxUnrolled ? 1 : R;
  using Vector = std::conditional_t<kOut % 4 == 0, float4, float2>;
  extern __shared__ float4 direct_tile_shared[];
  float* const tile = reinterpret_cast<float*>(direct_tile_shared);
  float* const staged_filters = tile + shape.images * shape.chunk * shape.tile_h * shape.pitch;

  int row_tile, column_tile, column_patch, row_patch, image;
  const int image_group = shape.by_row_tiles.divide(
      shape.by_column_tiles.divide(static_cast<int>(blockIdx.x), column_tile), row_tile);
  const int filter_group = shape.by_images.divide(
      shape.by_row_patches.divide(shape.by_column_patches.divide(static_cast<int>(threadIdx.x), column_patch),
                                  row_patch),
      image);
  const int n0 = image_group * shape.images;
  const int p_tile = row_tile * shape.row_patches * kRows,
            q_tile = column_tile * shape.column_patches * kColumns;
  DirectTilePatch<kOut, kRows, kColumns> patch;
  auto& sums = patch.sums;
  patch.n = n0 + image;
  patch.p0 = p_tile + row_patch * kRows;
  patch.q0 = q_tile + column_patch * kColumns;
  patch.first_filter = (blockIdx.y * shape.filter_groups + filter_group) * kOut;
  const bool active =
      filter_group < shape.filter_groups && patch.n < shape.n && patch.p0 < shape.p && patch.q0 < shape.q;
  const int group_filters = shape.chunk * R * S * kOut, chunk_filters = shape.filter_groups * group_filters;
  const int chunks = (shape.c + shape.chunk - 1) / shape.chunk;
  const float* next_filters = filters + static_cast<int64_t>(blockIdx.y) * chunks * chunk_filters;

#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const float start = active ? __ldg(bias + patch.first_filter + k) : 0.0f;
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) sums[k][i / kColumns][i % kColumns] = start;
  }

  for (int c0 = 0; c0 < shape.c; c0 += shape.chunk, next_filters += chunk_filters) {
    if (c0 > 0) __syncthreads();
    stage_direct_tile(shape, x, n0, p_tile * kStride - shape.pad_h, q_tile * kStride - shape.pad_w, c0, tile);
    const Vector* source = reinterpret_cast<const Vector*>(next_filters);
    for (int i = threadIdx.x; i < chunk_filters / static_cast<int>(sizeof(Vector) / sizeof(float));
         i += blockDim.x) {
      __pipeline_memcpy_async(reinterpret_cast<Vector*>(staged_filters) + i, source + i, sizeof(Vector));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (!active) continue;
    const float* in_row = tile +
                          (image * shape.chunk * shape.tile_h + row_patch * kRows * kStride) * shape.pitch +
                          column_patch * kColumns * kStride;
    const float* weight_row = staged_filters + filter_group * group_filters;
    const int channels = min(shape.chunk, shape.c - c0);
    for (int c = 0; c < channels; ++c, in_row += (shape.tile_h - R) * shape.pitch) {
#pragma unroll kUnrollRows
      for (int r = 0; r < R; ++r, in_row += shape.pitch, weight_row += S * kOut) {
        float in[kRows][kReadColumns];
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          load_together<kReadColumns>(in_row + i * kStride * shape.pitch, in[i]);
#pragma unroll
        for (int s = 0; s < S; ++s) {
          float weights[kOut];
          load_together<kOut>(weight_row + s * kOut, weights);
#pragma unroll
          for (int k = 0; k < kOut; ++k) {
#pragma unroll
            for (int i = 0; i < kRows; ++i) {
#pragma unroll
              for (int j = 0; j < kColumns; ++j) {
                sums[k][i][j] = fmaf(weights[k], in[i][j * kStride + s], sums[k][i][j]);
              }
            }
          }
        }
      }
    }
  }
  if (!active) return;
  if constexpr (kPool) {
    patch.store_halves(shape, y);
  } else {
    patch.store(shape, y);
  }
}

}  // namespace lenslet
