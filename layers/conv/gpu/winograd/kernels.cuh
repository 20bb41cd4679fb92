// The three stages of Winograd convolution with 2x2 outputs per tile: input transform, one matrix product for
// each position of the transformed tile, output transform. With few channels the last two are one kernel.
//
// Tiles are numbered over images, then rows, then columns of 2x2 outputs; a run works through them in chunks
// that fit the workspace. Within a chunk: transformed inputs V [E*E, C, tiles] and products M [E*E, K, tiles]
// with E = R + 1.
#pragma once

#include <cstdint>

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/sgemm_tile.cuh"
#include "layers/conv/gpu/winograd/transforms.cuh"

namespace lenslet {

struct WinogradShape {
  int c, h, w, k, p, q;
  int pad_h, pad_w;
  int group_channels, group_filters;  // C/G and K/G
  int filter_pitch;                   // K/G rounded up to the product's tile
  int filter_tiles;                   // filter_pitch over the product's tile
  int tiles;                          // of the whole batch
  int chunk;                          // tiles in a chunk, a multiple of kWinogradChunkUnit
  FastDivide by_tile_columns, by_tile_rows, by_filter_tiles;
  bool relu;
};

constexpr int kWinogradBlock = 128;      // threads, one tile each: divides kWinogradChunkUnit. Chosen by hand
constexpr int kWinogradChunkUnit = 128;  // the width of the product's tile

// computes    V [E*E, C, chunk] = B^T d B for the E x E input patch d of each tile from `first` on; tiles past the
//             last read as zero, so that all of V is written
// work split  thread = one tile of one channel (blockIdx.y, in strides of the grid), lanes along tiles
// memory      no shared memory: overlapping patches share inputs through L1; stores are coalesced
//             along tiles
// requires    first < tiles (the loop over chunks in winograd.cu)
// measured    with the other stages: see conv_winograd_multiply_kernel
template <int R>
__global__ void __launch_bounds__(kWinogradBlock)
    conv_winograd_input_kernel(const WinogradShape shape, int first,
                               const float* __restrict__ x,        // [N, C, H, W]
                               float* __restrict__ transformed) {  // V [E*E, C, chunk]
  constexpr int kEdge = R + 1;
  const int slot = blockIdx.x * kWinogradBlock + threadIdx.x, tile = first + slot;
  int tile_row, tile_column;
  const int n = shape.by_tile_rows.divide(shape.by_tile_columns.divide(tile, tile_column), tile_row);
  const int h0 = 2 * tile_row - shape.pad_h, w0 = 2 * tile_column - shape.pad_w;
  for (int c = blockIdx.y; c < shape.c; c += gridDim.y) {
    const float* plane = x + (static_cast<int64_t>(n) * shape.c + c) * shape.h * shape.w;
    float half[kEdge][kEdge];  // d B, row by row
#pragma unroll
    for (int i = 0; i < kEdge; ++i) {
      const int h = h0 + i;
      const bool row_inside = tile < shape.tiles && h >= 0 && h < shape.h;
      float d[kEdge];
#pragma unroll
      for (int j = 0; j < kEdge; ++j) {
        const int w = w0 + j;
        d[j] = row_inside && w >= 0 && w < shape.w ? __ldg(plane + h * shape.w + w) : 0.0f;
      }
      Winograd<2, R>::input(d, half[i]);
    }
    float* target = transformed + static_cast<int64_t>(c) * shape.chunk + slot;
    const int64_t position_pitch = static_cast<int64_t>(shape.c) * shape.chunk;
#pragma unroll
    for (int j = 0; j < kEdge; ++j) {
      float column[kEdge], v[kEdge];
#pragma unroll
      for (int i = 0; i < kEdge; ++i) column[i] = half[i][j];
      Winograd<2, R>::input(column, v);
#pragma unroll
      for (int i = 0; i < kEdge; ++i) target[(i * kEdge + j) * position_pitch] = v[i];
    }
  }
}

// computes    M [E*E, K, chunk] = U [E*E, K, C/G] x V [E*E, C/G, chunk], for each position and group
// work split  block = kBlockM filters x kBlockN tiles (blockIdx.x, filters fastest), blockIdx.y = position,
//             .z = group
// memory      shared: two buffers of kBlockL x (kBlockM + kBlockN) floats, see sgemm_tile.cuh
// requires    chunk a multiple of kBlockN, U zero padded to whole tiles (both by the launch in winograd.cu)
// measured    H100, hot, all stages: 8 images, 32 channels, 28 x 28, 32 filters 3x3 with padding: 9.77 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    conv_winograd_multiply_kernel(const WinogradShape shape,
                                  const float* __restrict__ filters,      // [G, E*E, C/G, pitch]
                                  const float* __restrict__ transformed,  // V [E*E, C, chunk]
                                  float* __restrict__ products) {         // M [E*E, K, chunk]
  static_assert(kWinogradChunkUnit % Tile::kBlockN == 0, "a chunk holds whole tiles");
  __shared__ typename Tile::Shared shared;
  int filter_tile;
  const int first_slot =
      shape.by_filter_tiles.divide(static_cast<int>(blockIdx.x), filter_tile) * Tile::kBlockN;
  const int position = blockIdx.y, group = blockIdx.z, first_filter = filter_tile * Tile::kBlockM;
  const int64_t matrix = static_cast<int64_t>(group) * gridDim.y + position;
  SgemmDenseLoader<Tile, Tile::kBlockM> load_filters(
      filters + matrix * shape.group_channels * shape.filter_pitch + first_filter, shape.group_channels,
      shape.filter_pitch);
  SgemmDenseLoader<Tile, Tile::kBlockN> load_inputs(
      transformed + (static_cast<int64_t>(position) * shape.c + group * shape.group_channels) * shape.chunk +
          first_slot,
      shape.group_channels, shape.chunk);
  float sums[Tile::kThreadM][Tile::kThreadN] = {};
  const int steps = (shape.group_channels + Tile::kBlockL - 1) / Tile::kBlockL;
  sgemm_tile_multiply<Tile>(shared, load_filters, load_inputs, steps, sums);

#pragma unroll
  for (int i = 0; i < Tile::kThreadM; ++i) {
    const int filter = first_filter + Tile::row(i);
    if (filter >= shape.group_filters) continue;
    float* row =
        products +
        (static_cast<int64_t>(position) * shape.k + group * shape.group_filters + filter) * shape.chunk +
        first_slot;
#pragma unroll
    for (int j = 0; j < Tile::kThreadN; j += 4) {
      *reinterpret_cast<float4*>(row + Tile::column(j)) =
          make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
    }
  }
}

/// Position of a tile's outputs.
struct WinogradTilePlace {
  int n, p0, q0;
  __device__ WinogradTilePlace(const WinogradShape& shape, int tile) {
    int row, column;
    n = shape.by_tile_rows.divide(shape.by_tile_columns.divide(tile, column), row);
    p0 = 2 * row;
    q0 = 2 * column;
  }
};

/// Adds the bias to the 2x2 outputs of one tile and filter and stores those inside the image.
__device__ __forceinline__ void store_winograd_tile(const WinogradShape& shape,
                                                    const WinogradTilePlace& place, int k,
                                                    const float (&out)[2][2], float bias, float* y) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (place.p0 + i >= shape.p) continue;
    const int64_t row = (static_cast<int64_t>(place.n) * shape.k + k) * shape.p + place.p0 + i;
    float* target = y + row * shape.q + place.q0;
    const float left = relu_if(shape.relu, out[i][0] + bias), right = relu_if(shape.relu, out[i][1] + bias);
    if (shape.q % 2 == 0) {
      *reinterpret_cast<float2*>(target) = make_float2(left, right);
    } else {
      target[0] = left;
      if (place.q0 + 1 < shape.q) target[1] = right;
    }
  }
}

// computes    y = A^T m A + bias, optional ReLU: the 2x2 outputs of each tile from `first` on
// work split  thread = one tile of one filter (blockIdx.y, in strides of the grid), lanes along tiles
// memory      no shared memory; loads are coalesced along tiles, stores are pairs along q
// requires    first < tiles (the loop over chunks in winograd.cu)
// measured    with the other stages: see conv_winograd_multiply_kernel
template <int R>
__global__ void __launch_bounds__(kWinogradBlock)
    conv_winograd_output_kernel(const WinogradShape shape, int first,
                                const float* __restrict__ products,  // M [E*E, K, chunk]
                                const float* __restrict__ bias,      // [K]
                                float* __restrict__ y) {             // [N, K, P, Q]
  constexpr int kEdge = R + 1;
  const int slot = blockIdx.x * kWinogradBlock + threadIdx.x, tile = first + slot;
  if (tile >= shape.tiles) return;
  const WinogradTilePlace place(shape, tile);
  for (int k = blockIdx.y; k < shape.k; k += gridDim.y) {
    const float* source = products + static_cast<int64_t>(k) * shape.chunk + slot;
    const int64_t position_pitch = static_cast<int64_t>(shape.k) * shape.chunk;
    float half[kEdge][2];  // m A, row by row
#pragma unroll
    for (int i = 0; i < kEdge; ++i) {
      float m[kEdge];
#pragma unroll
      for (int j = 0; j < kEdge; ++j) m[j] = __ldg(source + (i * kEdge + j) * position_pitch);
      Winograd<2, R>::output(m, half[i]);
    }
    float out[2][2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float column[kEdge], pair[2];
#pragma unroll
      for (int i = 0; i < kEdge; ++i) column[i] = half[i][j];
      Winograd<2, R>::output(column, pair);
      out[0][j] = pair[0];
      out[1][j] = pair[1];
    }
    store_winograd_tile(shape, place, k, out, __ldg(bias + k), y);
  }
}

// computes    y = A^T [sum over c of U * V] A + bias, optional ReLU, for few channels: products and output
//             transform in one, so that M never travels through memory
// work split  thread = one tile x kOut filters (blockIdx.y); it works through the rows of the transformed
//             tile
// memory      shared: this block's filters [E*E, C, kOut], read as broadcasts; V is read once for kOut
//             filters, coalesced along tiles; registers hold a row of products [kOut, E] and the outputs
//             [kOut, 2, 2]
// requires    one group, E*E*C*kOut floats of shared memory (checked by the launch in winograd.cu)
// measured    H100, hot, with the input transform: RGB 4096 x 4096 to 3 planes: 947.3 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int R, int kOut>
__global__ void __launch_bounds__(kWinogradBlock) conv_winograd_few_channels_kernel(
    const WinogradShape shape, int first,
    const float* __restrict__ filters,      // [K tiles, E*E, C, kOut], zero padded
    const float* __restrict__ transformed,  // V [E*E, C, chunk]
    const float* __restrict__ bias,         // [K]
    float* __restrict__ y) {                // [N, K, P, Q]
  static_assert(kOut % 4 == 0, "filters are read as float4");
  constexpr int kEdge = R + 1;
  extern __shared__ float4 winograd_shared[];
  const int filter_vectors = kEdge * kEdge * shape.c * kOut / 4;
  const float4* source =
      reinterpret_cast<const float4*>(filters) + static_cast<int64_t>(blockIdx.y) * filter_vectors;
  for (int i = threadIdx.x; i < filter_vectors; i += kWinogradBlock) winograd_shared[i] = __ldg(source + i);
  __syncthreads();
  const int slot = blockIdx.x * kWinogradBlock + threadIdx.x, tile = first + slot;
  if (tile >= shape.tiles) return;

  const int64_t position_pitch = static_cast<int64_t>(shape.c) * shape.chunk;
  float out[kOut][2][2] = {};
#pragma unroll
  for (int i = 0; i < kEdge; ++i) {
    float products[kOut][kEdge] = {};
    for (int c = 0; c < shape.c; ++c) {
      const float* inputs =
          transformed + i * kEdge * position_pitch + static_cast<int64_t>(c) * shape.chunk + slot;
      float v[kEdge];
#pragma unroll
      for (int j = 0; j < kEdge; ++j) v[j] = __ldg(inputs + j * position_pitch);
#pragma unroll
      for (int j = 0; j < kEdge; ++j) {
        const float4* weights = winograd_shared + ((i * kEdge + j) * shape.c + c) * (kOut / 4);
#pragma unroll
        for (int k = 0; k < kOut; k += 4) {
          const float4 u = weights[k / 4];
          products[k][j] = fmaf(u.x, v[j], products[k][j]);
          products[k + 1][j] = fmaf(u.y, v[j], products[k + 1][j]);
          products[k + 2][j] = fmaf(u.z, v[j], products[k + 2][j]);
          products[k + 3][j] = fmaf(u.w, v[j], products[k + 3][j]);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kOut; ++k) {
      float half[2];
      Winograd<2, R>::output(products[k], half);
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        if (Winograd<2, R>::output_weight(row, i) == 0.0f) continue;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          out[k][row][j] = fmaf(Winograd<2, R>::output_weight(row, i), half[j], out[k][row][j]);
        }
      }
    }
  }
  const WinogradTilePlace place(shape, tile);
#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    const int filter = blockIdx.y * kOut + k;
    if (filter < shape.k) store_winograd_tile(shape, place, filter, out[k], __ldg(bias + filter), y);
  }
}

}  // namespace lenslet
