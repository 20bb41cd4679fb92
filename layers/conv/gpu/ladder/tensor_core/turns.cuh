// What rungs 16 to 19 of the tensor_core ladder share, whose two warpgroups take turns: a block's memory, its copies,
// and the turns of a warpgroup.
//
// A turn begins when all inputs of the tile before are there. A barrier's parity distinguishes two consecutive rounds
// of the ring, no more. Without turns a warpgroup could fall two rounds behind and take a new stage for an old one.
//
// The filters of each step have a barrier of their own. In rungs 13 to 15 they arrive with the first tile's inputs, for
// which the second warpgroup would have to wait.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/early_launch.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_kernel.cuh"
#include "layers/conv/gpu/ladder/tensor_core/shared_inputs.cuh"

namespace lenslet {
namespace tensor_core_ladder {

/// A tile, which one warpgroup computes: 64 positions x 128 filters or, with filters as rows, 192 x 64. A step copies
/// the inputs of a row of taps in kRuns runs of kStep channels.
template <int kTileFilters, int kStepRuns = 1>
struct TurnTile {
  static constexpr int kFilters = kTileFilters, kRuns = kStepRuns;
  static constexpr bool kFiltersAsRows = kFilters == kRowFilters;
  static constexpr int kPositions = kFiltersAsRows ? kColumnPositions : kTurnPositions;
  static constexpr int kSums = kPositions * kFilters / kWarpgroup;
  static constexpr int kProductFilterBytes = kFilters * kRowBytes;
  static constexpr int kStoreBytes = kFiltersAsRows ? kTurnedBytes : kLinesBytes;  // of a warp
};

/// Where a block has its filters, its ring, what it stores, and its barriers, in shared memory.
struct TurnMemory {
  uint32_t filters, stages, barriers;
  uint32_t turns, filter_barriers;  // a barrier for each warpgroup; one for the filters of each step
  unsigned char* stores;            // of all warps
  float* tile_bias;                 // of rungs 18 and 19
};

/// The steps of a tile, and what they have.
template <class Tile>
struct TurnSteps {
  int rows, row_steps, steps;  // of taps; of a row; of a tile
  int filter_bytes, stage_bytes, run_bytes;
  __device__ __forceinline__ explicit TurnSteps(const RungShape& shape) {
    row_steps = shape.c / (kStep * Tile::kRuns);
    steps = shape.steps / (shape.s * Tile::kRuns);
    rows = steps / row_steps;
    filter_bytes = shape.s * Tile::kRuns * Tile::kProductFilterBytes;
    run_bytes = tensor_core_ladder::stage_bytes(shape.s, Tile::kPositions);
    stage_bytes = Tile::kRuns * run_bytes;
  }
};

template <class Tile>
__device__ __forceinline__ TurnMemory turn_memory(const RungShape& shape, unsigned char* shared) {
  const TurnSteps<Tile> sizes(shape);
  TurnMemory memory;
  memory.filters = shared_address(shared);
  const int filter_bytes = sizes.steps * sizes.filter_bytes;
  memory.stages = memory.filters + filter_bytes;
  memory.stores = shared + filter_bytes + shape.stages * sizes.stage_bytes;
  memory.barriers = shared_address(memory.stores) + kWarps * Tile::kStoreBytes;
  memory.turns = memory.barriers + shape.stages * kBarrierPairBytes;
  memory.filter_barriers = memory.turns + kBarrierPairBytes;
  const uint32_t end = memory.filter_barriers + sizes.steps * kBarrierBytes;
  memory.tile_bias = reinterpret_cast<float*>(shared + (end - memory.filters));
  return memory;
}

/// Initialises the barriers.
template <class Tile>
__device__ __forceinline__ void init_turns(const RungShape& shape, const TurnMemory& memory) {
  if (threadIdx.x == 0) {
    for (int group = 0; group < kGroups; ++group)
      barrier_init(memory.turns + group * kBarrierBytes, kWarpgroupWarps);
    for (int step = 0; step < TurnSteps<Tile>(shape).steps; ++step)
      barrier_init(memory.filter_barriers + step * kBarrierBytes, 1);
  }
  init_ring(memory.barriers, shape.stages, kWarpgroupWarps);
}

/// Starts the copy of the filters of a step of the block's tiles.
template <class Tile>
__device__ __forceinline__ void copy_filters(const RungShape& shape, const RungOperands& operands,
                                             const TurnMemory& memory, int step) {
  const TurnSteps<Tile> sizes(shape);
  const RungTile tile(shape, static_cast<int>(blockIdx.x), Tile::kPositions, Tile::kFilters);
  const int64_t first = int64_t{tile.filter_tile} * sizes.steps + step;
  const uint32_t barrier = memory.filter_barriers + step * kBarrierBytes;
  barrier_arrive_expect(barrier, sizes.filter_bytes);
  bulk_copy(memory.filters + step * sizes.filter_bytes, operands.filters + first * (sizes.filter_bytes / 4),
            sizes.filter_bytes, barrier);
}

/// Starts all copies of a block: of the inputs of its tiles, and between those of the first tile of the filters, from
/// step `first_filters` on.
template <class Tile>
__device__ __forceinline__ void copy_tiles(const RungShape& shape, const RungOperands& operands,
                                           const TurnMemory& memory, int first_filters = 0) {
  const TurnSteps<Tile> sizes(shape);
  const int first_tile = static_cast<int>(blockIdx.x);
  RingPosition ring;
  for (int i = first_tile; i < shape.tiles; i += static_cast<int>(gridDim.x)) {
    const RungCorner corner(shape, RungTile(shape, i, Tile::kPositions, Tile::kFilters).position);
    int step = 0;
    RungTap tap;
    for (; tap.r < sizes.rows; ++tap.r) {
      for (tap.c = 0; tap.c < shape.c; ring.advance(shape.stages), ++step) {
        if (i == first_tile && step >= first_filters) copy_filters<Tile>(shape, operands, memory, step);
        const uint32_t full = memory.barriers + ring.index * kBarrierPairBytes;
        uint32_t inputs = memory.stages + ring.index * sizes.stage_bytes;
        barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
        barrier_arrive_expect(full, Tile::kRuns * copied_bytes(shape.s, Tile::kPositions));
#pragma unroll
        for (int run = 0; run < Tile::kRuns; ++run, tap.c += kStep, inputs += sizes.run_bytes)
          rung_tensor_copy(operands, corner, tap, inputs, full);
      }
    }
  }
}

/// Multiplies a tile: `sums` of this warpgroup. Signals `next_turn` when all inputs of the tile are there, and the
/// barriers of its stages when their inputs are read.
template <class Tile>
__device__ __forceinline__ void multiply_in_turn(const RungShape& shape, const TurnMemory& memory,
                                                 uint32_t next_turn, RingPosition& ring,
                                                 float (&sums)[Tile::kSums]) {
  using namespace hopper;
  const TurnSteps<Tile> sizes(shape);
  const bool first_lane = threadIdx.x % 32 == 0;
  uint32_t read = 0;  // the `free` barrier of the stage whose last products are in flight; 0: none
  bool add = false;
  uint64_t filters = swizzled_operand_descriptor(memory.filters);
  int step = 0;
#pragma unroll 1
  do {  // not for: ptxas would wait after each product, where there may be none
    const uint32_t full = memory.barriers + ring.index * kBarrierPairBytes;
    barrier_wait(memory.filter_barriers + step * kBarrierBytes, 0);
    barrier_wait(full, ring.parity);
    if (first_lane && step == sizes.steps - 1) barrier_arrive(next_turn);
    uint64_t inputs = swizzled_operand_descriptor(memory.stages + ring.index * sizes.stage_bytes);
    int s = 0;
#pragma unroll 1
    do {
#pragma unroll
      for (int run = 0; run < Tile::kRuns; ++run) {
        const uint64_t tap_inputs = inputs + run * (sizes.run_bytes >> 4);
        wgmma_hold(sums);
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < kStep / 8; ++j)
          wgmma<MathMode::kTf32>(sums, (Tile::kFiltersAsRows ? filters : tap_inputs) + 2 * j,
                                 (Tile::kFiltersAsRows ? tap_inputs : filters) + 2 * j, j > 0 || add);
        add = true;
        wgmma_commit();
        wgmma_hold(sums);
        wgmma_wait<1>();  // the products before these have read their operands
        if (first_lane && read) barrier_arrive(read);
        read = 0;
        filters += Tile::kProductFilterBytes >> 4;
      }
      inputs += kRowBytes >> 4;
    } while (++s < shape.s);
    read = full + kBarrierBytes;
    ring.advance(shape.stages);
  } while (++step < sizes.steps);
  wgmma_wait<0>();
  wgmma_hold(sums);
  if (first_lane) barrier_arrive(read);
}

/// How 16 to 18 store whole lines.
template <bool kBiasInShared>
struct PieceByPiece {
  template <class Output, int kSums>
  static __device__ __forceinline__ void store(const RungShape& shape, const Output& output,
                                               unsigned char* lines, int place, int filter,
                                               const float (&sums)[kSums]) {
    store_lines<kBiasInShared>(shape, output, lines, place, filter, sums);
  }
};

/// The tiles of a warpgroup: every other tile of its block, those of group 0 first. `output` has `bias` and `y`.
template <class Tile, bool kBiasInShared = false, class Lines = PieceByPiece<kBiasInShared>, class Output>
__device__ __forceinline__ void take_turns(const RungShape& shape, const TurnMemory& memory, int group,
                                           const Output& output) {
  const int steps = TurnSteps<Tile>(shape).steps, warp = static_cast<int>(threadIdx.x) / 32,
            group_warp = warp % kWarpgroupWarps;
  const uint32_t turn = memory.turns + group * kBarrierBytes,
                 next_turn = memory.turns + (1 - group) * kBarrierBytes;
  unsigned char* const own_place = memory.stores + warp * Tile::kStoreBytes;
  RingPosition ring;
  bool has_turn = group == 0;
  uint32_t turn_parity = group == 0 ? 1 : 0;  // no warp signals the first turn of group 0
#pragma unroll 1
  for (int i = static_cast<int>(blockIdx.x); i < shape.tiles;
       i += static_cast<int>(gridDim.x), has_turn = !has_turn) {
    if (!has_turn) {
      for (int step = 0; step < steps; ++step) ring.advance(shape.stages);
      continue;
    }
    barrier_wait(turn, turn_parity);
    turn_parity ^= 1;
    float sums[Tile::kSums];
    multiply_in_turn<Tile>(shape, memory, next_turn, ring, sums);
    const RungTile tile(shape, i, Tile::kPositions, Tile::kFilters);
    if constexpr (Tile::kFiltersAsRows) {
      store_columns<kBiasInShared>(shape, output, reinterpret_cast<float*>(own_place), tile.position,
                                   tile.filter + group_warp * 16, sums);
    } else {
      const int own_position = tile.position + group_warp * 16 + static_cast<int>(threadIdx.x % 16);
      Lines::store(shape, output, own_place, kept_output(shape, own_position), tile.filter, sums);
    }
  }
}

/// The kernels of rungs 16 and 17.
template <class Tile>
__device__ __forceinline__ void walk_in_turns(const RungShape& shape, const RungOperands& operands) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const TurnMemory memory = turn_memory<Tile>(shape, shared);
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);  // of a warp
  init_turns<Tile>(shape, memory);
  if (group == kGroups) {
    if (threadIdx.x % 32 == 0) copy_tiles<Tile>(shape, operands, memory);
    return;
  }
  take_turns<Tile>(shape, memory, group, operands);
}

/// Where a block of rungs 18 and 19 finds the bias, and stores its sums.
struct EarlyOutput {
  const float* bias;  // in shared memory, of the block's tile alone, moved so that the index is the filter
  float* y;           // [N, P, Q, K]
};

/// The kernels of rungs 18 and 19.
template <class Tile, class Lines = PieceByPiece<true>>
__device__ __forceinline__ void walk_early(const RungShape& shape, const RungOperands& operands) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const TurnMemory memory = turn_memory<Tile>(shape, shared);
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);  // of a warp
  const int first_filter =
      RungTile(shape, static_cast<int>(blockIdx.x), Tile::kPositions, Tile::kFilters).filter;
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kFilters; i += kThreads)
    memory.tile_bias[i] = operands.bias[first_filter + i];
  init_turns<Tile>(shape, memory);
  let_next_launch_begin();
  if (group == kGroups) {
    if (threadIdx.x % 32 != 0) return;
    copy_filters<Tile>(shape, operands, memory, 0);
    wait_for_launch_before();
    copy_tiles<Tile>(shape, operands, memory, 1);
    return;
  }
  wait_for_launch_before();
  take_turns<Tile, true, Lines>(shape, memory, group,
                                EarlyOutput{memory.tile_bias - first_filter, operands.y});
}

/// What the designs of these rungs have in common.
inline KeptDesign turn_design() {
  KeptDesign design;
  design.shares_inputs = true;
  design.filters_as_rows = true;
  design.takes_turns = true;
  design.threads = kThreads;
  design.block_positions = kTurnPositions;
  design.tensor_copies = true;
  design.resident_blocks = 1;
  return design;
}

}  // namespace tensor_core_ladder
}  // namespace lenslet
