// What the persistent rungs of the tensor_core ladder share: the ring of a block, the walk of rungs 11 and 12 through
// their tiles, and how 12 to 14, and 15 to 18 with tiles of 128 filters, store whole lines.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_kernel.cuh"

namespace lenslet {
namespace tensor_core_ladder {

constexpr int kBlock = 128;  // positions and filters of a tile
constexpr int kGroups = 2, kWarps = 4 * kGroups;
constexpr int kThreads = kWarps * 32 + 32;  // with the warp that copies

constexpr int kOperandBytes = kBlock * kRowBytes, kStageBytes = 2 * kOperandBytes;  // inputs, then filters
constexpr int kStages = 3, kRingBytes = kStages * (kStageBytes + kBarrierPairBytes);

/// Initialises the barriers of a ring, whose stages so many warps read.
__device__ __forceinline__ void init_ring(uint32_t barriers, int stages, int warps = kWarps) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      barrier_init(barriers + i * kBarrierPairBytes, 1);
      barrier_init(barriers + i * kBarrierPairBytes + kBarrierBytes, warps);
    }
    fence_barrier_init();
    fence_async_proxy();
  }
  __syncthreads();
}

/// The loop of rung 09 for all tiles of a block of 128 positions x 128 filters, whose ring goes on from tile to tile.
/// Calls store(the first of a warp's 16 positions, the first filter, sums).
template <class Store>
__device__ __forceinline__ void walk_tiles(const RungShape& shape, const RungOperands& operands,
                                           uint32_t stages, uint32_t barriers, Store&& store) {
  using namespace hopper;
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const int first_tile = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const bool first_lane = threadIdx.x % 32 == 0;
  init_ring(barriers, kStages);
  RingPosition ring;
  if (warp == kWarps) {
    if (!first_lane) return;
    for (int i = first_tile; i < shape.tiles; i += blocks) {
      const RungTile tile(shape, i, kBlock, kBlock);
      const RungCorner corner(shape, tile.position);
      const float* filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kBlock * kStep;
      RungTap tap;
      for (int step = 0; step < shape.steps; ++step, filters += kBlock * kStep) {
        const uint32_t inputs = stages + ring.index * kStageBytes,
                       full = barriers + ring.index * kBarrierPairBytes;
        barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
        barrier_arrive_expect(full, kStageBytes);
        rung_tensor_copy(operands, corner, tap, inputs, full);
        bulk_copy(inputs + kOperandBytes, filters, kOperandBytes, full);
        tap.advance(shape);
        ring.advance(kStages);
      }
    }
    return;
  }
  const int first_row = warp / 4 * kWarpgroupRows;
#pragma unroll 1
  for (int i = first_tile; i < shape.tiles; i += blocks) {
    const RungTile tile(shape, i, kBlock, kBlock);
    float sums[kBlock / 2];
    uint32_t read = 0;  // the `free` barrier of the step whose products are in flight
    int step = 0;
#pragma unroll 1
    do {  // not for: ptxas would wait after each product, where there may be none
      const uint32_t inputs = stages + ring.index * kStageBytes,
                     full = barriers + ring.index * kBarrierPairBytes;
      barrier_wait(full, ring.parity);
      const uint64_t a = swizzled_operand_descriptor(inputs + first_row * kRowBytes),
                     b = swizzled_operand_descriptor(inputs + kOperandBytes);
      wgmma_hold(sums);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < kStep / 8; ++j)
        wgmma<MathMode::kTf32>(sums, a + 2 * j, b + 2 * j, j > 0 || step > 0);
      wgmma_commit();
      wgmma_hold(sums);
      wgmma_wait<1>();  // the products before these have read their stage
      if (first_lane && step > 0) barrier_arrive(read);
      read = full + kBarrierBytes;
      ring.advance(kStages);
    } while (++step < shape.steps);
    wgmma_wait<0>();
    wgmma_hold(sums);
    if (first_lane) barrier_arrive(read);
    store(tile.position + first_row + warp % 4 * 16, tile.filter, sums);
  }
}

constexpr int kLineFilters = 32, kLineBytes = 4 * kLineFilters;  // of a position, a line of memory
constexpr int kLinesBytes = 16 * kLineBytes;                     // of a warp's 16 positions
constexpr int kDropped = -1;                                     // instead of a place in y

/// Adds the bias, applies ReLU and stores a warp's sums of 16 positions. They pass through `lines`, the warp's own
/// kLinesBytes of shared memory, so that eight lanes store a line together. `output`: where y has position lane % 16.
/// With kBiasInShared the bias is in shared memory.
template <bool kBiasInShared = false, class Operands, int kSums>
__device__ __forceinline__ void store_lines(const RungShape& shape, const Operands& operands,
                                            unsigned char* lines, int output, int first_filter,
                                            const float (&sums)[kSums]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Piece i of row r is at i ^ (r % 4 * 2): neither the writes, of two pieces in four rows at a time, nor the reads, of
  // a row, have bank conflicts.
  const auto piece_at = [&](int row, int piece) {
    return lines + row * kLineBytes + (piece ^ row % 4 * 2) * 16;
  };
#pragma unroll
  for (int line = 0; line < kSums * 2 / kLineFilters; ++line) {
    const int filter = first_filter + line * kLineFilters;
#pragma unroll
    for (int j = 0; j < kLineFilters / 8; ++j) {
      const auto* const place =
          reinterpret_cast<const float2*>(operands.bias + filter + j * 8 + lane % 4 * 2);
      const float2 bias = kBiasInShared ? *place : __ldg(place);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* const two = sums + (line * kLineFilters / 8 + j) * 4 + half * 2;
        *reinterpret_cast<float2*>(piece_at(half * 8 + lane / 4, j * 2 + lane % 4 / 2) + lane % 2 * 8) =
            make_float2(relu_if(shape.relu, two[0] + bias.x), relu_if(shape.relu, two[1] + bias.y));
      }
    }
    __syncwarp();
    const int own_filter = filter + lane % 8 * 4;
#pragma unroll
    for (int first = 0; first < 16; first += 4) {
      const int row = first + lane / 8, target = __shfl_sync(kAllLanes, output, row);
      const float4 four = *reinterpret_cast<const float4*>(piece_at(row, lane % 8));
      if (target != kDropped && own_filter < shape.k)
        *reinterpret_cast<float4*>(operands.y + static_cast<int64_t>(target) * shape.k + own_filter) = four;
    }
    __syncwarp();
  }
}

}  // namespace tensor_core_ladder
}  // namespace lenslet
