// The stores of the convolution whose tile serves all taps: sums from registers to shared memory, and from there to y.
#pragma once

#include "framework/instructions/warp.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_tile.cuh"

namespace lenslet {

/// Offset in y of padded pixel v for filter 0; -1 if v is no output.
template <class Tile>
__device__ __forceinline__ int wgmma_target(const WgmmaShape& shape, int v) {
  int rest, q;
  const int n = shape.by_padded_image.divide(v, rest);
  const int p = shape.by_padded_row.divide(rest, q);
  if (v >= shape.padded_pixels || p >= shape.p || q >= shape.q) return -1;
  const int pixel = p * shape.q + q;
  return n * shape.k * shape.plane + pixel * (Tile::kNhwc ? shape.k : 1);
}

/// Where a warpgroup's sums wait in shared memory: [filters][pixels], in NHWC [pixels][filters]. The exclusive or moves
/// every other access by 8 floats, so that what a warp of wgmma's layout holds goes to 32 different banks.
template <class Tile>
__device__ __forceinline__ int wgmma_staged(int pixel, int filter) {
  return Tile::kNhwc ? pixel * Tile::kFilters + (filter ^ (pixel % 4 * 8))
                     : filter * Tile::kPixelsOfGroup + (pixel ^ (filter / 2 % 4 * 8));
}

/// wgmma leaves rows 16*warp + lane/4 (+ 8) and columns 8*j + lane%4*2 (+ 1) in a thread (PTX ISA, "Matrix fragments
/// for wgmma").
template <class Tile>
__device__ __forceinline__ void wgmma_stage(const float (&sums)[Tile::kTilesM][Tile::kFilters / 2],
                                            float* staging) {
  const int warp = static_cast<int>(threadIdx.x / 32 % 4), lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int m = 0; m < Tile::kTilesM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = m * kWarpgroupRows + warp * 16 + half * 8 + lane / 4;
#pragma unroll
      for (int j = 0; j < Tile::kFilters / 8; ++j) {
        const int filter = j * 8 + lane % 4 * 2;
        const float one = sums[m][j * 4 + half * 2], two = sums[m][j * 4 + half * 2 + 1];
        if constexpr (Tile::kNhwc) {
          *reinterpret_cast<float2*>(staging + wgmma_staged<Tile>(pixel, filter)) = make_float2(one, two);
        } else {
          float* place = staging + wgmma_staged<Tile>(pixel, filter);
          place[0] = one;
          place[Tile::kPixelsOfGroup] = two;
        }
      }
    }
  }
}

/// Adds the bias to staged sums and stores them: warp `warp` of `warps`. A warp writes 32 neighbouring pixels of a
/// filter, in NHWC neighbouring filters of a pixel. It reads kAtOnce values before it writes the first: a warp that
/// waited for each would be too slow.
template <class Tile>
__device__ __forceinline__ void wgmma_store(const WgmmaShape& shape, const float* staging,
                                            const float* __restrict__ bias, float* __restrict__ y,
                                            int first_pixel, int first_filter, int warp, int warps) {
  constexpr int kRuns = Tile::kPixelsOfGroup / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int targets[kRuns];
#pragma unroll
  for (int i = 0; i < kRuns; ++i) targets[i] = wgmma_target<Tile>(shape, first_pixel + i * 32 + lane);
  constexpr int kLanesOfPixel = Tile::kFilters / 4;
  const int four = lane % kLanesOfPixel * 4;  // of the filters, this lane has the bias
  const float4 offset = __ldg(reinterpret_cast<const float4*>(bias + first_filter + four));
  if constexpr (Tile::kNhwc) {
    constexpr int kAtOnce = 4, kPixelsAtOnce = 32 / kLanesOfPixel;
    const int left = shape.k - first_filter - four;
    const bool vector = shape.k % 4 == 0 && left > 0;
    y += first_filter + four;
#pragma unroll
    for (int i = 0; i < kRuns; ++i) {
#pragma unroll 1
      for (int j = warp * kPixelsAtOnce; j < 32; j += warps * kPixelsAtOnce * kAtOnce) {
        float4 sums[kAtOnce];
#pragma unroll
        for (int e = 0; e < kAtOnce; ++e) {
          const int pixel = (j + e * warps * kPixelsAtOnce + lane / kLanesOfPixel) % 32;
          sums[e] = *reinterpret_cast<const float4*>(staging + wgmma_staged<Tile>(i * 32 + pixel, four));
        }
#pragma unroll
        for (int e = 0; e < kAtOnce; ++e) {
          const int pixel = j + e * warps * kPixelsAtOnce + lane / kLanesOfPixel;
          const int target = __shfl_sync(kAllLanes, targets[i], pixel % 32);
          const float out[4] = {
              relu_if(shape.relu, sums[e].x + offset.x), relu_if(shape.relu, sums[e].y + offset.y),
              relu_if(shape.relu, sums[e].z + offset.z), relu_if(shape.relu, sums[e].w + offset.w)};
          if (target >= 0 && pixel < 32) store_four(y + target, out, vector, left);
        }
      }
    }
  } else {
    constexpr int kAtOnce = 4;  // filters
    float* places[kRuns];
#pragma unroll
    for (int i = 0; i < kRuns; ++i) {
      places[i] = y + targets[i] + static_cast<int64_t>(first_filter + warp * kAtOnce) * shape.plane;
    }
    const int64_t skipped = static_cast<int64_t>((warps - 1) * kAtOnce) * shape.plane;
#pragma unroll 1
    for (int f = warp * kAtOnce; f < Tile::kFilters; f += warps * kAtOnce) {
      float sums[kAtOnce][kRuns];
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
#pragma unroll
        for (int i = 0; i < kRuns; ++i) sums[e][i] = staging[wgmma_staged<Tile>(i * 32 + lane, f + e)];
      }
      const float offsets[kAtOnce] = {
          __shfl_sync(kAllLanes, offset.x, f / 4), __shfl_sync(kAllLanes, offset.y, f / 4),
          __shfl_sync(kAllLanes, offset.z, f / 4), __shfl_sync(kAllLanes, offset.w, f / 4)};
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
        const bool exists = first_filter + f + e < shape.k;
#pragma unroll
        for (int i = 0; i < kRuns; ++i) {
          const float value = relu_if(shape.relu, sums[e][i] + offsets[e]);
          if (exists && targets[i] >= 0) *places[i] = value;
          places[i] += shape.plane;
        }
      }
#pragma unroll
      for (int i = 0; i < kRuns; ++i) places[i] += skipped;
    }
  }
}

}  // namespace lenslet
