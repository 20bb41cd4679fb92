// Common parts of the kernels of the direct ladder: the description of a problem, the filters in constant memory, and
// the input tile in shared memory.
//
// Every rung computes, with groups = 1,
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*stride_h - pad_h + r*dilation_h, ...]
#pragma once

#include <cstdint>

#include "framework/tensor/keep_nan.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {
namespace direct_ladder {

constexpr int kRgbChannels = 3;

struct RungShape {
  int n, c, h, w;     // input [N, C, H, W]
  int k, r, s, p, q;  // filters [K, C, R, S], output [N, K, P, Q]
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  // How blocks cut the output; blockIdx.x counts column tiles, then row tiles, then filter tiles, then images.
  int tile_p, tile_q, tile_k;  // outputs of a block
  FastDivide by_column_tiles, by_row_tiles, by_filter_tiles;
  // Shared memory: `chunk` channels of [tile_h, pitch].
  int chunk, tile_h, tile_w, pitch;
  bool relu;
};

/// The first outputs of this block.
struct RungBlock {
  int n, k, p, q;
  RungBlock() = default;
  __device__ explicit RungBlock(const RungShape& shape) {
    int column_tile, row_tile, filter_tile;
    n = shape.by_filter_tiles.divide(
        shape.by_row_tiles.divide(shape.by_column_tiles.divide(static_cast<int>(blockIdx.x), column_tile),
                                  row_tile),
        filter_tile);
    k = filter_tile * shape.tile_k;
    p = row_tile * shape.tile_p;
    q = column_tile * shape.tile_q;
  }
};

/// All filters and biases as a kernel parameter. Parameters are in constant memory, where one address for a whole warp
/// is one broadcast. Each launch has its own, so two layers cannot overwrite each other's, as they could a __constant__
/// array.
template <int kFloats>
struct FilterBank {
  static constexpr int kCapacity = kFloats;
  float values[kFloats];  // w [K, C, R, S], then b [K]
};

__device__ __forceinline__ int rung_bias(const RungShape& shape, int filter) {
  return shape.k * shape.c * shape.r * shape.s + filter;
}

/// Element (c, h, w) of image n, zero outside.
__device__ __forceinline__ float rung_input(const RungShape& shape, const float* x, int n, int c, int h,
                                            int w) {
  if (h < 0 || h >= shape.h || w < 0 || w >= shape.w) return 0.0f;
  return __ldg(x + ((static_cast<int64_t>(n) * shape.c + c) * shape.h + h) * shape.w + w);
}

/// Stores one output if it exists.
__device__ __forceinline__ void rung_store(const RungShape& shape, float* y, int n, int k, int p, int q,
                                           float sum) {
  if (k >= shape.k || p >= shape.p || q >= shape.q) return;
  y[((static_cast<int64_t>(n) * shape.k + k) * shape.p + p) * shape.q + q] = relu_if(shape.relu, sum);
}

/// Stores 4 or 2 neighbouring columns, as one store if all of them exist and rows are a multiple of as many.
template <int kColumns>
__device__ __forceinline__ void rung_store_together(const RungShape& shape, float* y, int n, int k, int p,
                                                    int q, const float (&sums)[kColumns]) {
  static_assert(kColumns == 4 || kColumns == 2, "stored as float4 or as float2");
  if (shape.q % kColumns != 0 || q >= shape.q) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) rung_store(shape, y, n, k, p, q + j, sums[j]);
    return;
  }
  if (k >= shape.k || p >= shape.p) return;
  float out[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) out[j] = relu_if(shape.relu, sums[j]);
  float* target = y + ((static_cast<int64_t>(n) * shape.k + k) * shape.p + p) * shape.q + q;
  if constexpr (kColumns == 4) {
    *reinterpret_cast<float4*>(target) = make_float4(out[0], out[1], out[2], out[3]);
  } else {
    *reinterpret_cast<float2*>(target) = make_float2(out[0], out[1]);
  }
}

extern __shared__ float4 rung_shared[];

/// Copies channels [c0, c0 + chunk) of the block's input tile, halo included, to shared memory
/// [chunk, tile_h, pitch], one warp per row.
__device__ __forceinline__ const float* stage_rung_tile(const RungShape& shape, const float* x,
                                                        const RungBlock& block, int c0) {
  float* tile = reinterpret_cast<float*>(rung_shared);
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  const int lanes = min(32, threads);
  const int h0 = block.p * shape.stride_h - shape.pad_h, w0 = block.q * shape.stride_w - shape.pad_w;
  const int channels = min(shape.chunk, shape.c - c0);
  __syncthreads();  // until no thread needs the previous tile
  for (int c = 0; c < channels; ++c) {
    for (int i = thread / lanes; i < shape.tile_h; i += threads / lanes) {
      if (thread / lanes >= threads / lanes) break;  // a last warp that is not full
      for (int j = thread % lanes; j < shape.tile_w; j += lanes) {
        tile[(c * shape.tile_h + i) * shape.pitch + j] =
            rung_input(shape, x, block.n, c0 + c, h0 + i, w0 + j);
      }
    }
  }
  __syncthreads();
  return tile;
}

/// Reads kVectors float4 of shared memory to registers.
template <int kVectors>
__device__ __forceinline__ void rung_read_vectors(const float* source, float (&values)[kVectors * 4]) {
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const float4 four = *reinterpret_cast<const float4*>(source + i * 4);
    values[i * 4] = four.x;
    values[i * 4 + 1] = four.y;
    values[i * 4 + 2] = four.z;
    values[i * 4 + 3] = four.w;
  }
}

}  // namespace direct_ladder
}  // namespace lenslet
