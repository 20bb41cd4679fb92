// The convolution of tma_kernel.cuh with blocks that keep their filters in shared memory.
//
// A block reads the filters of its tile once, and then nothing but inputs. An input that lies under several taps of a
// row is copied once for all of them: wgmma swizzles by the address (PTX ISA, "Shared Memory Matrix Layout"), so that a
// tap's operand may begin at any row.
//
// Two warpgroups take turns, as in CUTLASS's schedule KernelTmaWarpSpecializedPingpong: while one stores its tile, the
// other multiplies. A turn begins when all inputs of the tile before are there. A barrier's parity distinguishes two
// consecutive rounds of the ring, no more. Without turns a warpgroup could fall two rounds behind and take a new stage
// for an old one.
#pragma once

#include <climits>

#include "layers/conv/gpu/tensor_core/tma_kernel.cuh"

namespace lenslet {

/// Index of a position's output in y; INT_MAX if the position is dropped.
__device__ __forceinline__ int tma_output(const TmaShape& shape, int position) {
  int column;
  const int output_row = shape.by_q.divide(position, column);
  return column < shape.kept.q ? output_row * shape.kept.q + column : INT_MAX;
}

/// Where a block has its filters, its ring, its barriers, and what it stores, in shared memory.
struct TmaKeptMemory {
  uint32_t filters, stages, barriers;
  uint32_t filter_barriers, turns;  // a barrier for the filters of each step; one for each warpgroup
  unsigned char* staging;
  float* tile_bias;
};
template <class Tile>
__device__ __forceinline__ TmaKeptMemory tma_kept_memory(unsigned char* shared, const TmaKeptSizes& sizes) {
  TmaKeptMemory memory;
  memory.filters = shared_address(shared);
  const int filter_bytes = sizes.steps * sizes.step_filter_bytes;
  memory.staging = shared + filter_bytes + sizes.stages * sizes.stage_bytes;
  memory.tile_bias = reinterpret_cast<float*>(memory.staging + Tile::kStagingBytes);
  memory.stages = memory.filters + filter_bytes;
  memory.barriers = shared_address(memory.tile_bias + Tile::kFilters);
  memory.turns = memory.barriers + sizes.stages * kBarrierPairBytes;
  memory.filter_barriers = memory.turns + kBarrierPairBytes;
  return memory;
}
static_assert(kTmaBarrierBytes == kBarrierBytes && 2 * kTmaBarrierBytes == kBarrierPairBytes);

/// Initialises the barriers; one thread calls it.
__device__ __forceinline__ void tma_init_kept(const TmaKeptMemory& memory, const TmaKeptSizes& sizes) {
#pragma unroll 1
  for (int i = 0; i < sizes.stages; ++i) {
    barrier_init(memory.barriers + i * kBarrierPairBytes, 1);
    barrier_init(memory.barriers + i * kBarrierPairBytes + kBarrierBytes, kWarpgroupWarps);
  }
  barrier_init(memory.turns, kWarpgroupWarps);
  barrier_init(memory.turns + kBarrierBytes, kWarpgroupWarps);
#pragma unroll 1
  for (int step = 0; step < sizes.steps; ++step)
    barrier_init(memory.filter_barriers + step * kBarrierBytes, 1);
  fence_barrier_init();
  fence_async_proxy();
}

/// Starts all copies of a block: of its filters, and of the inputs of its tiles. The filters of step 0 come first, as
/// no launch before writes filters. Those of the other steps come between the inputs, so that the first products start
/// early.
template <class Tile>
__device__ __forceinline__ void tma_load_kept(const TmaShape& shape, const CUtensorMap& x,
                                              const unsigned char* __restrict__ filters,
                                              const TmaKeptMemory& memory) {
  const TmaKeptSizes& sizes = shape.kept;
  const int first_tile = static_cast<int>(blockIdx.x);
  const unsigned char* source =
      filters + static_cast<int64_t>(tma_tile_start<Tile>(shape, first_tile).filter_tile) * sizes.steps *
                    sizes.step_filter_bytes;
  const auto load_filters = [&](int step) {  // for 0, 1, 2, ... in this order: `source` moves on
    const uint32_t barrier = memory.filter_barriers + step * kBarrierBytes;
    barrier_arrive_expect(barrier, sizes.step_filter_bytes);
    bulk_copy(memory.filters + step * sizes.step_filter_bytes, source, sizes.step_filter_bytes, barrier);
    source += sizes.step_filter_bytes;
  };
  load_filters(0);
  wait_for_launch_before();
  RingPosition ring;
  for (int tile = first_tile; tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
    Im2colStart start = tma_window_start(shape, tma_tile_start<Tile>(shape, tile).position);
    int row_step = 0;
    for (int step = 0; step < sizes.steps; ++step) {
      if (step > 0 && tile == first_tile) load_filters(step);
      const uint32_t full = memory.barriers + ring.index * kBarrierPairBytes, free = full + kBarrierBytes;
      uint32_t inputs = memory.stages + ring.index * sizes.stage_bytes;
      barrier_wait(free, ring.parity ^ 1);
      barrier_arrive_expect(full, sizes.copied_bytes);
#pragma unroll
      for (int run = 0; run < Tile::kRuns; ++run) {
        im2col_copy(inputs, x, start, full);
        start.c += Tile::kChannels;
        inputs += sizes.box_bytes;
      }
      ring.advance(sizes.stages);
      if (++row_step < sizes.row_steps) continue;
      row_step = 0;
      start.c = 0;
      start.h_offset += shape.dilation_h;
    }
  }
}

/// Multiplies a tile: `sums` of this warpgroup. Signals `next_turn` when all inputs of the tile are there, and the
/// barriers of its steps when their inputs are read.
template <class Tile, int kSums>
__device__ __forceinline__ void tma_multiply_kept(const TmaShape& shape, const TmaKeptMemory& memory,
                                                  uint32_t next_turn, bool signals, RingPosition& ring,
                                                  float (&sums)[kSums]) {
  using namespace hopper;
  const TmaKeptSizes& sizes = shape.kept;
  uint32_t read = 0;  // the barrier of the step whose last products are in flight; 0: none
  bool add = false;
  uint64_t filters = swizzled_operand_descriptor<Tile::kRowBytes>(memory.filters);
  int step = 0;
#pragma unroll 1
  do {  // not for, as below: ptxas would allow for no products, and issue more instructions between two
    const uint32_t full = memory.barriers + ring.index * kBarrierPairBytes;
    barrier_wait(memory.filter_barriers + step * kBarrierBytes, 0);
    barrier_wait(full, ring.parity);
    if (signals && step == sizes.steps - 1) barrier_arrive(next_turn);
    uint64_t inputs =
        swizzled_operand_descriptor<Tile::kRowBytes>(memory.stages + ring.index * sizes.stage_bytes);
    int taps = shape.s;
#pragma unroll 1
    do {
#pragma unroll
      for (int run = 0; run < Tile::kRuns; ++run) {
        const uint64_t tap_inputs = inputs + run * (sizes.box_bytes >> 4);
        const uint64_t a = Tile::kFiltersAsRows ? filters : tap_inputs;
        const uint64_t b = Tile::kFiltersAsRows ? tap_inputs : filters;
        wgmma_hold(sums);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < Tile::kRowBytes / 32; ++i)
          wgmma<Tile::kMath, Tile::kBf16>(sums, a + 2 * i, b + 2 * i, i > 0 || add);
        add = true;
        wgmma_commit();
        wgmma_hold(sums);
        wgmma_wait<1>();  // the products before these have read their inputs
        if (signals && read) barrier_arrive(read);
        read = 0;
        filters += Tile::kFilterBytes >> 4;
      }
      inputs += sizes.tap_bytes >> 4;
    } while (--taps > 0);
    read = full + kBarrierBytes;
    ring.advance(sizes.stages);
  } while (++step < sizes.steps);
  wgmma_wait<0>();
  wgmma_hold(sums);
  if (signals) barrier_arrive(read);
}

/// Adds the bias, applies ReLU and stores the sums of a warp's 16 rows, which begin at `position`. 128 bytes of each
/// row at a time go through `staging`, so that a warp writes whole lines of memory: stores from the lanes that have the
/// sums, as tma_store_all_16_bits() does, took longer than a turn in a trial. `tile_bias` is in shared memory.
template <class Tile, int kSums>
__device__ __forceinline__ void tma_store_rows(const TmaShape& shape, const float* tile_bias,
                                               unsigned char* staging, void* __restrict__ y, int position,
                                               int first_filter, const float (&sums)[kSums]) {
  constexpr int kElementBytes = Tile::k16Bits ? 2 : 4, kColumns = kStagedBytes / kElementBytes;
  constexpr int kPitch = Tile::kStagingPitch, kPieces = kStagedBytes / 16, kRowsAtOnce = 32 / kPieces;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int output = tma_output(shape, position + lane % kWarpRows);
  unsigned char* const own_place = staging + lane / 4 * kPitch + lane % 4 * 2 * kElementBytes;
  const unsigned char* const piece = staging + lane / kPieces * kPitch + lane % kPieces * 16;
#pragma unroll
  for (int pass = 0; pass < Tile::kFilters / kColumns; ++pass) {
    float2 offsets[kColumns / 8];
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j)
      offsets[j] = *reinterpret_cast<const float2*>(tile_bias + pass * kColumns + j * 8 + lane % 4 * 2);
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
#pragma unroll
      for (int eight = 0; eight < 2; ++eight) {  // rows
        const float* const two = sums + (pass * kColumns / 8 + j) * 4 + eight * 2;
        unsigned char* const target = own_place + eight * 8 * kPitch + j * 8 * kElementBytes;
        if constexpr (Tile::k16Bits) {
          *reinterpret_cast<uint32_t*>(target) = tma_pair<Tile>(shape, offsets[j], two[0], two[1]);
        } else {
          *reinterpret_cast<float2*>(target) = make_float2(relu_if(shape.relu, two[0] + offsets[j].x),
                                                           relu_if(shape.relu, two[1] + offsets[j].y));
        }
      }
    }
    __syncwarp();
    const int filter = first_filter + pass * kColumns + lane % kPieces * (16 / kElementBytes);
    uint4 pieces[kWarpRows / kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kWarpRows / kRowsAtOnce; ++i)
      pieces[i] = *reinterpret_cast<const uint4*>(piece + i * kRowsAtOnce * kPitch);
#pragma unroll
    for (int i = 0; i < kWarpRows / kRowsAtOnce; ++i) {
      const int place = __shfl_sync(kAllLanes, output, i * kRowsAtOnce + lane / kPieces);
      unsigned char* const target =
          static_cast<unsigned char*>(y) + (static_cast<int64_t>(place) * shape.k + filter) * kElementBytes;
      if (place < shape.positions && filter < shape.k) *reinterpret_cast<uint4*>(target) = pieces[i];
    }
    __syncwarp();
  }
}

/// The same for a tile whose filters are operand A: a warp has the sums of 16 filters at all positions. The 16 filters
/// of eight positions at a time go through `staging`, so that a lane stores 16 bytes and a warp eight runs of 64.
template <class Tile, int kSums>
__device__ __forceinline__ void tma_store_columns(const TmaShape& shape, const float* tile_bias,
                                                  unsigned char* staging, float* __restrict__ y, int position,
                                                  int first_filter, const float (&sums)[kSums]) {
  constexpr int kPitch = Tile::kStagingPitch / 4;  // from position to position
  const int warp = static_cast<int>(threadIdx.x) / 32 % kWarpgroupWarps,
            lane = static_cast<int>(threadIdx.x) % 32;
  const int own_filter = warp * kWarpRows + lane / 4;  // and the eighth after it; see for_each_four()
  const float low = tile_bias[own_filter], high = tile_bias[own_filter + 8];
  // Eight lanes that read together have two positions four apart, in different banks.
  const int read_position = lane / 8 + lane / 4 % 2 * 4;
  float* const own = reinterpret_cast<float*>(staging) + lane % 4 * 2 * kPitch + lane / 4;
  const float* const piece = reinterpret_cast<const float*>(staging) + read_position * kPitch + lane % 4 * 4;
  const int filter = first_filter + warp * kWarpRows + lane % 4 * 4;
  int output = 0;  // of 32 positions, one a lane
#pragma unroll
  for (int j = 0; j < Tile::kPositions / 8; ++j) {
    own[0] = relu_if(shape.relu, sums[j * 4] + low);
    own[kPitch] = relu_if(shape.relu, sums[j * 4 + 1] + low);
    own[8] = relu_if(shape.relu, sums[j * 4 + 2] + high);
    own[kPitch + 8] = relu_if(shape.relu, sums[j * 4 + 3] + high);
    __syncwarp();
    const float4 four = *reinterpret_cast<const float4*>(piece);
    if (j % 4 == 0) output = tma_output(shape, position + j * 8 + lane);
    const int place = __shfl_sync(kAllLanes, output, j % 4 * 8 + read_position);
    if (place < shape.positions && filter < shape.k)
      *reinterpret_cast<float4*>(y + static_cast<int64_t>(place) * shape.k + filter) = four;
    __syncwarp();
  }
}

// computes    as conv_tensor_core_tma_kernel with one part, y [N, P, Q, K]; a sum's products in the order of the steps
// work split  persistent blocks, each with one tile of filters; a tile = kPositions positions x kFilters filters; two
//             warpgroups multiply and store a tile each, one thread copies. With kFiltersAsRows a product is 64 filters
//             x kPositions positions, else 64 positions x kFilters filters
// memory      shared: all filters of a tile, then a ring of steps of inputs, both in swizzled rows of kRowBytes
// requires    as conv_tensor_core_tma_kernel; stride 1 across or S = 1; K a multiple of 4 (of 16 bits: 8); filters and
//             three stages fit shared memory; the grid is a multiple of the filter tiles (tma_choice.h)
// measured    H200, hot, tf32, NHWC: 8 images, 64 channels, 128 x 128, 256 filters 3x3: 110 us = 340 TFLOP/s
//             (docs/results/2026-11-30-h200/deep3x3-tf32.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1) conv_tensor_core_kept_kernel(
    const TmaShape shape, const __grid_constant__ TmaMaps maps,
    const unsigned char* __restrict__ filters,  // [filter tiles, products, kFilters] rows of kRowBytes, swizzled
    const float* __restrict__ bias,             // [filter tiles * kFilters]
    void* __restrict__ y) {                     // [N, P, Q, K]; fp32, with k16Bits fp16 or bf16
  extern __shared__ __align__(1024) unsigned char shared[];
  const TmaKeptSizes& sizes = shape.kept;
  const TmaKeptMemory memory = tma_kept_memory<Tile>(shared, sizes);
  const int first_filter =
      tma_tile_start<Tile>(shape, static_cast<int>(blockIdx.x)).filter_tile * Tile::kFilters;
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kFilters; i += Tile::kThreads)
    memory.tile_bias[i] = bias[first_filter + i];
  const int group = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
  if (threadIdx.x == 0) {
    prefetch_tensor_map(maps.x);
    tma_init_kept(memory, sizes);
  }
  __syncthreads();
  let_next_launch_begin();
  if (group == Tile::kGroups) {
    if (threadIdx.x % 32 == 0) tma_load_kept<Tile>(shape, maps.x, filters, memory);
    return;
  }
  wait_for_launch_before();
  const bool signals = threadIdx.x % 32 == 0;
  const int first_tile = static_cast<int>(blockIdx.x), stride = static_cast<int>(gridDim.x);
  const uint32_t turn = memory.turns + group * kBarrierBytes,
                 next_turn = memory.turns + (1 - group) * kBarrierBytes;
  RingPosition ring;
  bool has_turn = group == 0;
  uint32_t turn_parity = group == 0 ? 1 : 0;  // the first turn is that of group 0
#pragma unroll 1
  for (int tile = first_tile; tile < shape.tiles; tile += stride, has_turn = !has_turn) {
    if (!has_turn) {
      for (int step = 0; step < sizes.steps; ++step) ring.advance(sizes.stages);
      continue;
    }
    barrier_wait(turn, turn_parity);
    turn_parity ^= 1;
    float sums[Tile::kPositions * Tile::kFilters / kWarpgroup];
    tma_multiply_kept<Tile>(shape, memory, next_turn, signals, ring, sums);
    const int warp = static_cast<int>(threadIdx.x) / 32,
              position = tma_tile_start<Tile>(shape, tile).position;
    unsigned char* const staging = memory.staging + warp * Tile::kStagingRows * Tile::kStagingPitch;
    if constexpr (Tile::kFiltersAsRows) {
      tma_store_columns<Tile>(shape, memory.tile_bias, staging, static_cast<float*>(y), position,
                              first_filter, sums);
    } else {
      tma_store_rows<Tile>(shape, memory.tile_bias, staging, y, position + warp % kWarpgroupWarps * kWarpRows,
                           first_filter, sums);
    }
  }
}

}  // namespace lenslet
