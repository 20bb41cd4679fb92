// Convolution as a matrix product whose right operand, the im2col matrix, is gathered while computing and never stored.
// Formula and source: ../implicit_gemm.cu.
#pragma once

#include <cstdint>

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/implicit_gemm_tap.h"
#include "layers/conv/gpu/sgemm_tile.cuh"
#include "layers/conv/gpu/store_rectifier.cuh"

namespace lenslet {

struct ImplicitGemmShape {
  int h, w, q, plane;      // input plane, output width, P*Q
  int image, group_input;  // C*H*W, C/G*H*W
  int k, group_filters;    // K, K/G
  int filter_pitch;        // K/G rounded up to the block's tile
  int positions;           // N*P*Q
  int steps;               // C/G*R*S over kBlockL, rounded up
  int filter_tiles;        // ceil(K/G / kBlockM)
  int stride_h, stride_w, pad_h, pad_w;
  FastDivide by_filter_tiles, by_plane, by_q;
  bool vector_store;  // P*Q is a multiple of 4: four positions lie in one image, 16-byte aligned
  StoreRectifier after;
};

/// Gathers kBlockL x kBlockN elements of the im2col matrix a step. A thread keeps its positions, so that the
/// window's corner is worked out once; the taps come from a table, the same entry for a whole warp.
template <class Tile, bool kChecked>
class ImplicitGemmGather {
 public:
  __device__ ImplicitGemmGather(const ImplicitGemmShape& shape, const float* x, const ImplicitGemmTap* taps,
                                int first_position)
      : x_(x), taps_(taps + threadIdx.x / Tile::kBlockN), height_(shape.h), width_(shape.w) {
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      // Positions past the end read the last one's input; their sums are never stored.
      const int position =
          min(first_position + static_cast<int>(threadIdx.x % Tile::kBlockN) + i * Tile::kThreads,
              shape.positions - 1);
      int pixel, p, q;
      const int n = shape.by_plane.divide(position, pixel);
      p = shape.by_q.divide(pixel, q);
      const int h = p * shape.stride_h - shape.pad_h, w = q * shape.stride_w - shape.pad_w;
      corner_[i] = n * shape.image + h * shape.w + w;
      if (kChecked) {
        h_[i] = h;
        w_[i] = w;
      }
    }
  }
  __device__ __forceinline__ void fetch() {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if constexpr (kChecked) {
        const int4 tap = __ldg(reinterpret_cast<const int4*>(taps_ + row * kRowsApart));
#pragma unroll
        for (int i = 0; i < kColumns; ++i) {
          const bool inside = static_cast<unsigned>(h_[i] + tap.y) < static_cast<unsigned>(height_) &&
                              static_cast<unsigned>(w_[i] + tap.z) < static_cast<unsigned>(width_);
          values_[row][i] = inside ? __ldg(x_ + (corner_[i] + tap.x)) : 0.0f;
        }
      } else {
        const int offset = __ldg(&taps_[row * kRowsApart].offset);
#pragma unroll
        for (int i = 0; i < kColumns; ++i) {
          values_[row][i] = offset >= 0 ? __ldg(x_ + (corner_[i] + offset)) : 0.0f;
        }
      }
    }
    taps_ += Tile::kBlockL;
  }
  __device__ __forceinline__ void store(float (*shared)[Tile::kBlockN]) const {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        shared[threadIdx.x / Tile::kBlockN + row * kRowsApart]
              [threadIdx.x % Tile::kBlockN + i * Tile::kThreads] = values_[row][i];
      }
    }
  }

 private:
  static constexpr int kRowsApart = Tile::kThreads > Tile::kBlockN ? Tile::kThreads / Tile::kBlockN : 1;
  static constexpr int kColumns = Tile::kThreads > Tile::kBlockN ? 1 : Tile::kBlockN / Tile::kThreads;
  static constexpr int kRows = Tile::kBlockL / kRowsApart;
  static_assert(kRowsApart * kColumns * Tile::kThreads == kRowsApart * Tile::kBlockN || kColumns == 1,
                "threads tile the positions");
  const float* x_;
  const ImplicitGemmTap* taps_;
  int height_, width_;
  int corner_[kColumns];
  int h_[kColumns], w_[kColumns];
  float values_[kRows][kColumns];
};

// computes    y [N, K, P*Q] = filters [K/G, C/G*R*S] x im2col(x) [C/G*R*S, N*P*Q] per group, bias, optional
//             ReLU
// work split  block = kBlockM filters x kBlockN output positions (blockIdx.x, filters fastest, so that
//             neighbours share the input in L2; blockIdx.y = group), thread = kThreadM x kThreadN sums
// memory      shared: two buffers of kBlockL x (kBlockM + kBlockN) floats, see sgemm_tile.cuh
// requires    no padding unless kChecked; N*C*H*W < 2^31 (both checked by implicit_gemm.cu)
// measured    H100, hot: RGB 4096 x 4096 to 3 planes, 3x3, stride 1: 548.2 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <class Tile, bool kChecked>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks) conv_implicit_gemm_kernel(
    const ImplicitGemmShape shape,
    const float* __restrict__ x,               // [N, C, H, W]
    const float* __restrict__ filters,         // [G, steps*kBlockL, filter_pitch], zero padded
    const float* __restrict__ bias,            // [G, filter_pitch]
    const ImplicitGemmTap* __restrict__ taps,  // [steps*kBlockL]
    float* __restrict__ y) {                   // [N, K, P, Q]
  __shared__ typename Tile::Shared shared;
  int filter_tile;
  const int first_position =
      shape.by_filter_tiles.divide(static_cast<int>(blockIdx.x), filter_tile) * Tile::kBlockN;
  const int group = blockIdx.y, first_filter = filter_tile * Tile::kBlockM;
  SgemmDenseLoader<Tile, Tile::kBlockM> load_filters(
      filters + static_cast<int64_t>(group) * shape.steps * Tile::kBlockL * shape.filter_pitch + first_filter,
      shape.steps * Tile::kBlockL, shape.filter_pitch);
  ImplicitGemmGather<Tile, kChecked> gather(shape, x + static_cast<int64_t>(group) * shape.group_input, taps,
                                            first_position);
  float sums[Tile::kThreadM][Tile::kThreadN] = {};
  sgemm_tile_multiply<Tile>(shared, load_filters, gather, shape.steps, sums);

  const float* offsets = bias + group * shape.filter_pitch;
  shape.after.apply(sums, [&](int i) {
    const int filter = first_filter + Tile::row(i);
    return filter < shape.group_filters ? __ldg(offsets + filter) : 0.0f;
  });
  const bool relu = shape.after.relu;
#pragma unroll
  for (int j = 0; j < Tile::kThreadN; j += 4) {
    const int position = first_position + Tile::column(j);
    if (position >= shape.positions) continue;
    int pixel;
    const int n = shape.by_plane.divide(position, pixel);
#pragma unroll
    for (int i = 0; i < Tile::kThreadM; ++i) {
      const int filter = first_filter + Tile::row(i);
      if (filter >= shape.group_filters) continue;
      const float offset = shape.after.offset(__ldg(offsets + filter));
      const int64_t channel = static_cast<int64_t>(group) * shape.group_filters + filter;
      float* target = y + (static_cast<int64_t>(n) * shape.k + channel) * shape.plane + pixel;
      if (shape.vector_store) {
        *reinterpret_cast<float4*>(target) =
            make_float4(relu_if(relu, sums[i][j] + offset), relu_if(relu, sums[i][j + 1] + offset),
                        relu_if(relu, sums[i][j + 2] + offset), relu_if(relu, sums[i][j + 3] + offset));
        continue;
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (position + e >= shape.positions) continue;
        // Past the end of this image the position belongs to a later one.
        int other_pixel;
        const int other = shape.by_plane.divide(position + e, other_pixel);
        y[(static_cast<int64_t>(other) * shape.k + channel) * shape.plane + other_pixel] =
            relu_if(relu, sums[i][j + e] + offset);
      }
    }
  }
}

}  // namespace lenslet
