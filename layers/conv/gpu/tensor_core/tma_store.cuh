// How the convolution that TMA feeds stores the sums of a tile: from registers, part by part of a tile that a cluster
// shares, or by TMA.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/cluster.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/instructions/tensor_copy.cuh"
#include "framework/instructions/warp.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/tensor_core/tma_tile.cuh"

namespace lenslet {

/// Where a tile begins.
struct TmaTileStart {
  int position, filter_tile;
};
template <class Tile>
__device__ __forceinline__ TmaTileStart tma_tile_start(const TmaShape& shape, int tile) {
  TmaTileStart start;
  start.position = shape.by_filter_tiles.divide(tile, start.filter_tile) * Tile::kPositions;
  return start;
}

/// Adds the bias, applies ReLU, and stores four neighbouring filters of a position.
template <class Tile>
__device__ __forceinline__ void tma_store(const TmaShape& shape, const float* __restrict__ bias,
                                          float* __restrict__ y, int position, int filter, float4 sums) {
  static_assert(!Tile::k16Bits);
  if (position >= shape.positions || filter >= shape.k) return;
  const float4 offset = __ldg(reinterpret_cast<const float4*>(bias + filter));
  const float out[4] = {relu_if(shape.relu, sums.x + offset.x), relu_if(shape.relu, sums.y + offset.y),
                        relu_if(shape.relu, sums.z + offset.z), relu_if(shape.relu, sums.w + offset.w)};
  if constexpr (Tile::kNhwc) {
    store_four(y + static_cast<int64_t>(position) * shape.k + filter, out, shape.k % 4 == 0,
               shape.k - filter);
  } else {
    int at;
    const int64_t image = shape.by_plane.divide(position, at);
    float* const target = y + (image * shape.k + filter) * shape.plane + at;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (filter + i < shape.k) target[static_cast<int64_t>(i) * shape.plane] = out[i];
    }
  }
}

/// Calls visit(row, column, four sums of neighbouring columns) for all sums of this thread. wgmma leaves rows 16*warp +
/// lane/4 (+ 8) and columns 8*j + lane%4*2 (+ 1) in a thread (PTX ISA, "Matrix fragments for wgmma"); neighbouring
/// lanes exchange pairs.
template <int kSums, class Visit>
__device__ __forceinline__ void for_each_four(const float (&sums)[kSums], Visit&& visit) {
  const int warp = static_cast<int>(threadIdx.x / 32 % 4), lane = static_cast<int>(threadIdx.x % 32);
  const bool odd = lane % 2 != 0;
  const int column = lane % 2 * 8 + lane % 4 / 2 * 4;
#pragma unroll
  for (int j = 0; j < kSums / 8; ++j) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const left = sums + j * 8 + half * 2;  // columns 16 j to 16 j + 7; `right`: the next eight
      const float* const right = left + 4;
      const float one = __shfl_xor_sync(kAllLanes, odd ? left[0] : right[0], 1);
      const float two = __shfl_xor_sync(kAllLanes, odd ? left[1] : right[1], 1);
      const float4 four =
          odd ? make_float4(one, two, right[0], right[1]) : make_float4(left[0], left[1], one, two);
      visit(warp * 16 + half * 8 + lane / 4, j * 16 + column, four);
    }
  }
}

/// Four neighbouring sums of all parts of a tile, added in the order of the parts. `at` is in this block. The loads do
/// not wait for each other.
template <int kParts>
__device__ __forceinline__ float4 tma_total(uint32_t at) {
  float4 fours[kParts];
#pragma unroll
  for (int part = 0; part < kParts; ++part) fours[part] = load_in_cluster(in_block(at, part));
  float4 total = fours[0];
#pragma unroll
  for (int part = 1; part < kParts; ++part) {
    total.x += fours[part].x;
    total.y += fours[part].y;
    total.z += fours[part].z;
    total.w += fours[part].w;
  }
  return total;
}

/// Two neighbouring sums as they are stored, rounded.
template <class Tile>
__device__ __forceinline__ uint32_t tma_pair(const TmaShape& shape, float2 offset, float left, float right) {
  left = relu_if(shape.relu, left + offset.x);
  right = relu_if(shape.relu, right + offset.y);
  return Tile::kBf16 ? pack_bfloat16s(left, right) : pack_halves(left, right);
}

/// Stores four neighbouring filters of a position.
__device__ __forceinline__ void tma_store_16_bits(const TmaShape& shape, uint16_t* __restrict__ y,
                                                  int position, int filter, uint2 four) {
  if (position >= shape.positions || filter >= shape.k) return;
  uint16_t* const target = y + static_cast<int64_t>(position) * shape.k + filter;
  if (shape.k % 4 == 0) {
    *reinterpret_cast<uint2*>(target) = four;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (filter + i < shape.k) target[i] = static_cast<uint16_t>((i < 2 ? four.x : four.y) >> i % 2 * 16);
  }
}
/// The same for eight filters.
__device__ __forceinline__ void tma_store_16_bits(const TmaShape& shape, uint16_t* __restrict__ y,
                                                  int position, int filter, uint4 eight) {
  if (position >= shape.positions || filter >= shape.k) return;
  uint16_t* const target = y + static_cast<int64_t>(position) * shape.k + filter;
  if (shape.k % 8 == 0) {
    *reinterpret_cast<uint4*>(target) = eight;
    return;
  }
  const uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (filter + i < shape.k) target[i] = static_cast<uint16_t>(pairs[i / 2] >> i % 2 * 16);
  }
}

/// The pair number lane % 4 of each of the four lanes 4i, 4i + 1, …, of a quad, in their order: a transposition.
__device__ __forceinline__ uint4 transpose_quad(const uint32_t (&pairs)[4]) {
  const int lane = static_cast<int>(threadIdx.x % 4);
  const bool odd = lane % 2 != 0, upper = lane / 2 != 0;
  const uint32_t a = __shfl_xor_sync(kAllLanes, odd ? pairs[0] : pairs[1], 1);
  const uint32_t b = __shfl_xor_sync(kAllLanes, odd ? pairs[2] : pairs[3], 1);
  // Pair lane % 2, and 2 + lane % 2, of both lanes of this half of the quad.
  const uint32_t low[2] = {odd ? a : pairs[0], odd ? pairs[1] : a};
  const uint32_t high[2] = {odd ? b : pairs[2], odd ? pairs[3] : b};
  const uint32_t c = __shfl_xor_sync(kAllLanes, upper ? low[0] : high[0], 2);
  const uint32_t d = __shfl_xor_sync(kAllLanes, upper ? low[1] : high[1], 2);
  return upper ? make_uint4(c, d, high[0], high[1]) : make_uint4(low[0], low[1], c, d);
}

/// Adds the bias, applies ReLU, rounds and stores all sums of this warpgroup, whose rows begin at `position`. The four
/// lanes of a quad have pairs of the same row (see for_each_four()); each stores one of four runs of eight filters.
template <class Tile, int kSums>
__device__ __forceinline__ void tma_store_all_16_bits(const TmaShape& shape, const float* __restrict__ bias,
                                                      uint16_t* __restrict__ y, int position,
                                                      int first_filter, const float (&sums)[kSums]) {
  const int warp = static_cast<int>(threadIdx.x / 32 % 4), lane = static_cast<int>(threadIdx.x % 32);
  const int row = position + warp * 16 + lane / 4;
#pragma unroll
  for (int run = 0; run < kSums / 16; ++run) {  // of 32 columns
    float2 offsets[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      offsets[i] =
          __ldg(reinterpret_cast<const float2*>(bias + first_filter + run * 32 + i * 8 + lane % 4 * 2));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const two = sums + (run * 4 + i) * 4 + half * 2;
        pairs[i] = tma_pair<Tile>(shape, offsets[i], two[0], two[1]);
      }
      tma_store_16_bits(shape, y, row + half * 8, first_filter + run * 32 + lane % 4 * 8,
                        transpose_quad(pairs));
    }
  }
}

/// Adds up part `rank` of a tile's rows from all blocks of a cluster, whose sums begin at `sums`, and stores it.
template <class Tile, int kParts>
__device__ __forceinline__ void tma_store_part(const TmaShape& shape, const float* __restrict__ bias,
                                               void* __restrict__ y, uint32_t sums, int rank,
                                               const TmaTileStart& tile) {
  constexpr int kRows = Tile::kPositions / kParts, kFours = Tile::kFilters / 4;
  const int first_filter = tile.filter_tile * Tile::kFilters;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kFours; i += kWarpgroup * Tile::kGroups) {
    // Neighbouring threads have neighbours in y: filters, or positions.
    const int row = rank * kRows + (Tile::kNhwc ? i / kFours : i % kRows);
    const int filter = (Tile::kNhwc ? i % kFours : i / kRows) * 4;
    const float4 total = tma_total<kParts>(sums + static_cast<uint32_t>(row * Tile::kSumPitch + filter) * 4);
    if constexpr (Tile::k16Bits) {
      const float4 offset = __ldg(reinterpret_cast<const float4*>(bias + first_filter + filter));
      const uint2 four = make_uint2(tma_pair<Tile>(shape, make_float2(offset.x, offset.y), total.x, total.y),
                                    tma_pair<Tile>(shape, make_float2(offset.z, offset.w), total.z, total.w));
      tma_store_16_bits(shape, static_cast<uint16_t*>(y), tile.position + row, first_filter + filter, four);
    } else {
      tma_store<Tile>(shape, bias, static_cast<float*>(y), tile.position + row, first_filter + filter, total);
    }
  }
}

/// Adds the bias, applies ReLU and has TMA store the sums of this warpgroup, whose rows begin at `position`: boxes of
/// 64 rows of 128 bytes, swizzled, at the shared address `boxes`, which is `target`. Rows and filters outside of y are
/// dropped. The boxes are read until bulk_stores_read() returns.
template <class Tile, int kSums>
__device__ __forceinline__ void tma_store_boxes(const TmaShape& shape, const float* __restrict__ bias,
                                                const CUtensorMap& y, uint32_t boxes, unsigned char* target,
                                                int position, int first_filter, const float (&sums)[kSums]) {
  constexpr int kElementBytes = Tile::k16Bits ? 2 : 4, kBoxRowBytes = 128;
  constexpr int kColumns = kBoxRowBytes / kElementBytes, kBytes = kWarpgroupRows * kBoxRowBytes;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup, lane = thread % 32;
  const int group_barrier = 1 + static_cast<int>(threadIdx.x) / kWarpgroup;
  if (thread == 0) bulk_stores_read();
  named_barrier<kWarpgroup>(group_barrier);
#pragma unroll
  for (int j = 0; j < Tile::kFilters / 8; ++j) {
    const float2 offset = __ldg(reinterpret_cast<const float2*>(bias + first_filter + j * 8 + lane % 4 * 2));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = thread / 32 * 16 + half * 8 + lane / 4;  // see for_each_four()
      const int byte = (j * 8 % kColumns + lane % 4 * 2) * kElementBytes;
      unsigned char* const place =
          target + j * 8 / kColumns * kBytes + row * kBoxRowBytes + ((byte / 16 ^ row % 8) * 16 + byte % 16);
      const float* const two = sums + j * 4 + half * 2;
      if constexpr (Tile::k16Bits) {
        *reinterpret_cast<uint32_t*>(place) = tma_pair<Tile>(shape, offset, two[0], two[1]);
      } else {
        *reinterpret_cast<float2*>(place) =
            make_float2(relu_if(shape.relu, two[0] + offset.x), relu_if(shape.relu, two[1] + offset.y));
      }
    }
  }
  fence_async_proxy();
  named_barrier<kWarpgroup>(group_barrier);
  if (thread != 0) return;
#pragma unroll
  for (int box = 0; box < Tile::kFilters / kColumns; ++box) {
    const int filter = first_filter + box * kColumns;
    if (filter < shape.k) store_box(y, boxes + box * kBytes, filter, position);
  }
  commit_bulk_stores();
}

}  // namespace lenslet
