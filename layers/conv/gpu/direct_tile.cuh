// Direct convolution by tiles: a block stages an input tile of a few channels and their filters in shared
// memory, and each thread keeps kColumns neighbouring outputs of kOut channels in registers, so that a loaded
// input feeds kOut*S multiply-adds and a loaded weight feeds kColumns.
#pragma once

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

/// The problem and how a block cuts it: `images` x `rows` x `segments` threads, a segment being kColumns
/// outputs.
struct DirectTileShape {
  int n, c, h, w, k, p, q;
  int pad_h, pad_w;
  int images, rows, segments;   // of one block
  int row_tiles, column_tiles;  // of one image
  int chunk;                    // channels staged at a time
  int tile_h, pitch;            // staged rows, and floats a row (a multiple of 4)
  int lanes;                    // threads that copy one row, a power of two
  FastDivide by_segments, by_rows, by_tile_h, by_chunk, by_row_tiles, by_column_tiles;
  bool contiguous;    // the tile is whole unpadded images with all channels: one straight copy
  bool vector_store;  // Q is a multiple of 4
  bool relu;
  size_t filter_offset() const { return size_t{1} * images * chunk * tile_h * pitch; }
};

/// Copies channels [c0, c0 + chunk) of the block's input tile to `tile` [images, chunk, tile_h, pitch], zero
/// outside.
__device__ __forceinline__ void stage_direct_tile(const DirectTileShape& shape, const float* __restrict__ x,
                                                  int n0, int h0, int w0, int c0, float* tile) {
  if (shape.contiguous) {
    const int image = shape.c * shape.h * shape.w;
    const int count = min(shape.images, shape.n - n0) * image / 4;
    const float4* source = reinterpret_cast<const float4*>(x + static_cast<int64_t>(n0) * image);
    for (int i = threadIdx.x; i < count; i += blockDim.x)
      reinterpret_cast<float4*>(tile)[i] = __ldg(source + i);
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
      tile[row * shape.pitch + column] = inside && w >= 0 && w < shape.w ? __ldg(source + w) : 0.0f;
    }
  }
}

/// kCount weights that lie together, to registers: as float4 (or float2) broadcasts.
template <int kCount>
__device__ __forceinline__ void load_weights(const float* source, float (&weights)[kCount]) {
  if constexpr (kCount % 4 == 0) {
#pragma unroll
    for (int k = 0; k < kCount; k += 4) {
      const float4 four = *reinterpret_cast<const float4*>(source + k);
      weights[k] = four.x;
      weights[k + 1] = four.y;
      weights[k + 2] = four.z;
      weights[k + 3] = four.w;
    }
  } else {
    static_assert(kCount == 2, "weights are read as float4 or float2");
    const float2 two = *reinterpret_cast<const float2*>(source);
    weights[0] = two.x;
    weights[1] = two.y;
  }
}

// computes    y [N, K, P, Q] of x [N, C, H, W], filters RxS, any padding, bias, optional ReLU.
// work split  block = `images` x `rows` x `segments` threads (DirectTileShape) for kOut channels
// (blockIdx.y); thread =
//             kColumns outputs of one row x kOut channels.
// memory      shared: input tile [images, chunk, tile_h, pitch], then filters [chunk, R, S, kOut];
// kOut*kColumns sums. requires    stride kStride both ways, no dilation, one group; kColumns a multiple of 4
// (checked by direct.cu's plan). measured    see docs/results.
template <int R, int S, int kStride, int kOut, int kColumns>
__global__ void __launch_bounds__(128) conv_direct_tile_kernel(
    const DirectTileShape shape, const float* __restrict__ x,
    const float* __restrict__ filters,  // [ceil(K / kOut), C, R, S, kOut], zero padded
    const float* __restrict__ bias,     // [ceil(K / kOut), kOut]
    float* __restrict__ y) {
  constexpr int kVectors = ((kColumns - 1) * kStride + S + 3) / 4;  // float4 a thread reads of an input row
  constexpr int kFilter = R * S * kOut;                             // floats of one channel's filters
  constexpr int kUnrollRows =
      S * kOut * kColumns > 256 ? 1 : R;  // keeps the loop body inside the instruction cache
  extern __shared__ float4 direct_tile_shared[];
  float* const tile = reinterpret_cast<float*>(direct_tile_shared);
  float* const staged_filters = tile + shape.images * shape.chunk * shape.tile_h * shape.pitch;

  int row_tile, column_tile, segment, row;
  const int group = shape.by_row_tiles.divide(
      shape.by_column_tiles.divide(static_cast<int>(blockIdx.x), column_tile), row_tile);
  const int image =
      shape.by_rows.divide(shape.by_segments.divide(static_cast<int>(threadIdx.x), segment), row);
  const int n0 = group * shape.images;
  const int p0 = row_tile * shape.rows, q_tile = column_tile * shape.segments * kColumns;
  const int n = n0 + image, p = p0 + row, q0 = q_tile + segment * kColumns;
  const bool active = image < shape.images && n < shape.n && p < shape.p && q0 < shape.q;
  const float* block_filters = filters + static_cast<int64_t>(blockIdx.y) * shape.c * kFilter;

  float sums[kOut][kColumns];
#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const float start = __ldg(bias + blockIdx.y * kOut + k);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[k][j] = start;
  }

  for (int c0 = 0; c0 < shape.c; c0 += shape.chunk) {
    const int channels = min(shape.chunk, shape.c - c0);
    if (c0 > 0) __syncthreads();
    stage_direct_tile(shape, x, n0, p0 * kStride - shape.pad_h, q_tile * kStride - shape.pad_w, c0, tile);
    for (int i = threadIdx.x; i < channels * kFilter / 2; i += blockDim.x) {
      reinterpret_cast<float2*>(staged_filters)[i] =
          __ldg(reinterpret_cast<const float2*>(block_filters + static_cast<int64_t>(c0) * kFilter) + i);
    }
    __syncthreads();
    if (!active) continue;
    const float* in_row = tile + (image * shape.chunk * shape.tile_h + row * kStride) * shape.pitch +
                          segment * kColumns * kStride;
    const float* weight_row = staged_filters;
    for (int c = 0; c < channels; ++c, in_row += (shape.tile_h - R) * shape.pitch) {
#pragma unroll kUnrollRows
      for (int r = 0; r < R; ++r, in_row += shape.pitch, weight_row += S * kOut) {
        float in[kVectors * 4];
        load_weights<kVectors * 4>(in_row, in);
#pragma unroll
        for (int s = 0; s < S; ++s) {
          float weights[kOut];
          load_weights<kOut>(weight_row + s * kOut, weights);
#pragma unroll
          for (int k = 0; k < kOut; ++k) {
#pragma unroll
            for (int j = 0; j < kColumns; ++j) sums[k][j] = fmaf(weights[k], in[j * kStride + s], sums[k][j]);
          }
        }
      }
    }
  }
  if (!active) return;

#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const int channel = blockIdx.y * kOut + k;
    if (channel >= shape.k) continue;
    float* target = y + ((static_cast<int64_t>(n) * shape.k + channel) * shape.p + p) * shape.q + q0;
#pragma unroll
    for (int j = 0; j < kColumns; j += 4) {
      float out[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) out[i] = finish(sums[k][j + i], shape.relu);
      const int count = shape.q - q0 - j;
      store_four(target + j, out, shape.vector_store && count >= 4, count);
    }
  }
}

}  // namespace lenslet
