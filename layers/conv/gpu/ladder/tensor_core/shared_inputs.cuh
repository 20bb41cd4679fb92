// What rungs 14 and 15 of the tensor_core ladder share, whose copies take the inputs of all taps of a row: the walk of
// a block through its tiles. And how they and those after them store a tile.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_kernel.cuh"

namespace lenslet {
namespace tensor_core_ladder {

/// Where y has a position in rows of Q + S - 1 columns; kDropped past the end and under the last S - 1 columns.
__device__ __forceinline__ int kept_output(const RungShape& shape, int position) {
  int column;
  const int output_row = shape.by_q.divide(position, column);
  return position < shape.positions && column < shape.q ? output_row * shape.q + column : kDropped;
}

/// All tiles of a block: its copying warp and its warpgroups. With kFiltersAsRows one warpgroup multiplies a tile's
/// kFilters, operand A, with its kColumnPositions; else each of two multiplies 64 positions, operand A, with the
/// filters. Calls store(warp, the first position of the warpgroup, the first filter, the memory of all warps' lines,
/// sums).
template <int kFilters, bool kFiltersAsRows, class Store>
__device__ __forceinline__ void walk_shared_inputs(const RungShape& shape, const RungOperands& operands,
                                                   Store&& store) {
  using namespace hopper;
  constexpr int kPositions = kFiltersAsRows ? kColumnPositions : kBlock,
                kReaders = kFiltersAsRows ? kRowWarps : kWarps;
  constexpr int kSums = kFiltersAsRows ? kColumnPositions / 2 : kFilters / 2;
  constexpr int kStepBytes = kFilters * kRowBytes;  // of filters
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned char* const ring_memory = shared + shape.steps * kStepBytes;
  unsigned char* const lines = ring_memory + shape.stages * stage_bytes(shape.s, kPositions);
  const uint32_t filters = shared_address(shared), stages = shared_address(ring_memory),
                 barriers = shared_address(lines) +
                            (kFiltersAsRows ? kRowWarps * kTurnedBytes : kWarps * kLinesBytes);
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const int first_tile = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const int channel_steps = shape.c / kStep, rows = shape.steps / (shape.s * channel_steps);
  const bool first_lane = threadIdx.x % 32 == 0;
  init_ring(barriers, shape.stages, kReaders);
  RingPosition ring;
  if (warp == kReaders) {
    if (!first_lane) return;
    for (int i = first_tile; i < shape.tiles; i += blocks) {
      const RungTile tile(shape, i, kPositions, kFilters);
      const RungCorner corner(shape, tile.position);
      const float* const source =
          operands.filters + int64_t{tile.filter_tile} * shape.steps * kFilters * kStep;
      RungTap tap;
      for (; tap.r < rows; ++tap.r) {
        for (tap.c = 0; tap.c < shape.c; tap.c += kStep, ring.advance(shape.stages)) {
          const uint32_t full = barriers + ring.index * kBarrierPairBytes;
          const int new_filters = i == first_tile ? shape.s : 0;
          barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
          barrier_arrive_expect(full, copied_bytes(shape.s, kPositions) + new_filters * kStepBytes);
          rung_tensor_copy(operands, corner, tap, stages + ring.index * stage_bytes(shape.s, kPositions),
                           full);
          for (int s = 0; s < new_filters; ++s) {
            const int step = (tap.r * shape.s + s) * channel_steps + tap.c / kStep;
            bulk_copy(filters + step * kStepBytes, source + step * kFilters * kStep, kStepBytes, full);
          }
        }
      }
    }
    return;
  }
  const int first_row = kFiltersAsRows ? 0 : warp / 4 * kWarpgroupRows;  // of the inputs
#pragma unroll 1
  for (int i = first_tile; i < shape.tiles; i += blocks) {
    const RungTile tile(shape, i, kPositions, kFilters);
    float sums[kSums];
    uint32_t read = 0;  // the `free` barrier of the stage whose last products are in flight; 0: none
    bool add = false;
    uint64_t row_filters = swizzled_operand_descriptor(filters);
    int row = 0;
#pragma unroll 1
    do {  // not for: ptxas would wait after each product, where there may be none
      int c = 0;
#pragma unroll 1
      do {
        const uint32_t full = barriers + ring.index * kBarrierPairBytes;
        barrier_wait(full, ring.parity);
        uint64_t inputs = swizzled_operand_descriptor(stages + ring.index * stage_bytes(shape.s, kPositions) +
                                                      first_row * kRowBytes);
        uint64_t tap_filters = row_filters + c * (kStepBytes >> 4);
        int s = 0;
#pragma unroll 1
        do {
          wgmma_hold(sums);
          wgmma_fence();
#pragma unroll
          for (int j = 0; j < kStep / 8; ++j)
            wgmma<MathMode::kTf32>(sums, (kFiltersAsRows ? tap_filters : inputs) + 2 * j,
                                   (kFiltersAsRows ? inputs : tap_filters) + 2 * j, j > 0 || add);
          add = true;
          wgmma_commit();
          wgmma_hold(sums);
          wgmma_wait<1>();  // the products before these have read their operands
          if (first_lane && read) barrier_arrive(read);
          read = 0;
          inputs += kRowBytes >> 4;
          tap_filters += channel_steps * (kStepBytes >> 4);
        } while (++s < shape.s);
        read = full + kBarrierBytes;
        ring.advance(shape.stages);
      } while (++c < channel_steps);
      row_filters += shape.s * channel_steps * (kStepBytes >> 4);
    } while (++row < rows);
    wgmma_wait<0>();
    wgmma_hold(sums);
    if (first_lane) barrier_arrive(read);
    store(warp, tile.position + first_row, tile.filter, lines, sums);
  }
}

template <bool kBiasInShared>
__device__ __forceinline__ float read_bias(const float* place) {
  return kBiasInShared ? *place : __ldg(place);
}

/// Adds the bias, applies ReLU and stores a warp's sums of 16 filters, from `filter` on, at all positions of a tile,
/// from `position` on. The filters of eight positions at a time pass through `turned`, the warp's own kTurnedBytes of
/// shared memory, so that four lanes store 64 bytes of a position together.
template <bool kBiasInShared = false, class Operands>
__device__ __forceinline__ void store_columns(const RungShape& shape, const Operands& operands, float* turned,
                                              int position, int filter,
                                              const float (&sums)[kColumnPositions / 2]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Neither the writes, of eight filters at every other position, nor the reads, of two positions four apart by eight
  // lanes, have bank conflicts.
  float* const own = turned + lane % 4 * 2 * kPitch + lane / 4;
  const int read_position = lane / 8 + lane / 4 % 2 * 4, own_filter = filter + lane % 4 * 4;
  const float* const piece = turned + read_position * kPitch + lane % 4 * 4;
  const float low = read_bias<kBiasInShared>(operands.bias + filter + lane / 4),
              high = read_bias<kBiasInShared>(operands.bias + filter + lane / 4 + 8);
  int output = kDropped;  // of 32 positions, one a lane
#pragma unroll
  for (int j = 0; j < kColumnPositions / 8; ++j) {
    own[0] = relu_if(shape.relu, sums[j * 4] + low);
    own[kPitch] = relu_if(shape.relu, sums[j * 4 + 1] + low);
    own[8] = relu_if(shape.relu, sums[j * 4 + 2] + high);
    own[kPitch + 8] = relu_if(shape.relu, sums[j * 4 + 3] + high);
    __syncwarp();
    const float4 four = *reinterpret_cast<const float4*>(piece);
    if (j % 4 == 0) output = kept_output(shape, position + j * 8 + lane);
    const int target = __shfl_sync(kAllLanes, output, j % 4 * 8 + read_position);
    if (target != kDropped && own_filter < shape.k)
      *reinterpret_cast<float4*>(operands.y + static_cast<int64_t>(target) * shape.k + own_filter) = four;
    __syncwarp();
  }
}

/// The kernel of rung 14.
template <int kFilters>
__device__ __forceinline__ void shared_inputs(const RungShape& shape, const RungOperands& operands) {
  walk_shared_inputs<kFilters, false>(
      shape, operands,
      [&](int warp, int position, int filter, unsigned char* lines, const float(&sums)[kFilters / 2]) {
        const int own_position = position + warp % 4 * 16 + static_cast<int>(threadIdx.x % 16);
        store_lines(shape, operands, lines + warp * kLinesBytes, kept_output(shape, own_position), filter,
                    sums);
      });
}

}  // namespace tensor_core_ladder
}  // namespace lenslet
