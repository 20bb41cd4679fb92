// Convolution with Hopper's warpgroup products: one input tile in shared memory serves all taps of the filter.
//
// Number the pixels of the padded images of the whole batch in one row, v = (n*Hp + p)*Wp + q. The output at v needs,
// for tap (r, s), the input at v + r*dilation_h*Wp + s*dilation_w: for a run of 256 outputs that is again a run of 256,
// moved by a constant. wgmma without swizzle lets an operand start at any multiple of 16 bytes, and one pixel of a tile
// [channels / 4][pixels][4 channels] (8 channels in fp16) is 16 bytes. So operand A of every tap is the same tile in
// shared memory, read from another start: the im2col matrix does not exist even there. The price is that the
// positions between the rows of the output (Wp - Q of Wp) are computed and dropped.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_load.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_store.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_tile.cuh"

namespace lenslet {

// computes    y [N, K, P, Q] = bias + sum over slices of channels and taps: inputs [pixels, channels] x filters
//             [channels, K]; operands tf32 or fp16, sums in fp32, optional ReLU
// work split  persistent blocks; a tile = kPixels padded pixels x kFilters filters; two warpgroups multiply 64*kTilesM
//             pixels each, the other warps load inputs, send for filters and store the tile before
// memory      shared: a ring of input slices [kPieces][pitch] x 16 bytes, a ring of filter stages [kStageTaps][kPieces]
//             [kFilters] x 16 bytes, the sums of the tile before; 64*kTilesM/128*kFilters sums per thread
// requires    sm_90a (make_kernel of tensor_core.cu); stride 1, one group; NHWC: fp16, C a multiple of 4 (supports() of
//             hopper_wgmma.cu)
// measured    H100, hot, tf32, NCHW: 8 images, 64 channels, 128 x 128, 256 filters 3x3: 160.4 us = 233 TFLOP/s
//             (docs/results/2026-11-27-h100/reproduce.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1) conv_tensor_core_wgmma_kernel(
    const WgmmaShape shape,
    const float* __restrict__ x,                // [N, C, H, W] or [N, H, W, C]
    const unsigned char* __restrict__ filters,  // [filter tiles, slices, taps] packed
    const float* __restrict__ bias,             // [filter tiles * kFilters]
    float* __restrict__ y) {                    // [N, K, P, Q] or [N, P, Q, K]
  using namespace hopper;
  extern __shared__ __align__(128) unsigned char shared[];
  const int slice_bytes = Tile::kPieces * shape.pitch * 16;
  const int stages_of_slice = shape.taps / Tile::kStageTaps;
  const uint32_t inputs = shared_address(shared), ring = inputs + shape.ring_offset;
  // Two barriers for each buffer of a ring: full, then free.
  const uint32_t input_barriers = inputs + shape.barrier_offset;
  const uint32_t filter_barriers = input_barriers + shape.input_depth * kBarrierPairBytes;
  const uint32_t staging_barriers = filter_barriers + shape.filter_depth * kBarrierPairBytes;
  if (threadIdx.x == 0) {
    constexpr int kConsumerWarps = kWarpgroupWarps * Tile::kConsumers;
#pragma unroll 1
    for (int i = 0; i < shape.input_depth; ++i) {
      barrier_init(input_barriers + i * kBarrierPairBytes, Tile::kLoaders);
      barrier_init(input_barriers + i * kBarrierPairBytes + kBarrierBytes, kConsumerWarps);
    }
#pragma unroll 1
    for (int i = 0; i < shape.filter_depth; ++i) {
      barrier_init(filter_barriers + i * kBarrierPairBytes, 1);
      barrier_init(filter_barriers + i * kBarrierPairBytes + kBarrierBytes, kConsumerWarps);
    }
    // Every lane arrives here, not one lane per warp as above: ordinary accesses fill the stage, and racecheck follows
    // a barrier only from threads that arrive. The cost is not measurable.
    for (int i = 0; i < Tile::kConsumers; ++i) {
      barrier_init(staging_barriers + i * kBarrierPairBytes, kWarpgroup);
      barrier_init(staging_barriers + i * kBarrierPairBytes + kBarrierBytes, 32 * Tile::kStorers);
    }
    fence_barrier_init();
    fence_async_proxy();
  }
  __syncthreads();
  float* staging = reinterpret_cast<float*>(shared + shape.staging_offset);
  const int group =
      __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);  // the same for a warp

  if (group >= Tile::kConsumers) {
    keep_registers<Tile::kProducerRegisters>();
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * Tile::kConsumers;
    if (warp < Tile::kLoaders) {
      wgmma_load_inputs<Tile>(shape, x, shared, input_barriers, warp);
    } else if (warp > Tile::kLoaders) {  // the warps that computed the last tile store it
      const int storer = warp - Tile::kLoaders - 1, owner = storer / Tile::kStorers;
      const uint32_t full = staging_barriers + owner * kBarrierPairBytes, free = full + kBarrierBytes;
      uint32_t parity = 0;
      for (int tile = static_cast<int>(blockIdx.x); tile + static_cast<int>(gridDim.x) < shape.tiles;
           tile += static_cast<int>(gridDim.x)) {
        int filter_tile;
        const int first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels;
        barrier_wait(full, parity);
        wgmma_store<Tile>(shape, staging + owner * Tile::kStagingFloats, bias, y,
                          first + owner * Tile::kPixelsOfGroup, filter_tile * Tile::kFilters,
                          storer % Tile::kStorers, Tile::kStorers);
        barrier_arrive(free);
        parity ^= 1;
      }
    } else if (threadIdx.x % 32 == 0) {
      RingPosition at;
      for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
        int filter_tile;
        shape.by_filter_tiles.divide(tile, filter_tile);
        const unsigned char* source =
            filters + static_cast<int64_t>(filter_tile) * shape.slices * shape.taps * Tile::kTapBytes;
        for (int i = 0; i < shape.slices * stages_of_slice; ++i) {
          const uint32_t full = filter_barriers + at.index * kBarrierPairBytes, free = full + kBarrierBytes;
          barrier_wait(free, at.parity ^ 1);
          barrier_arrive_expect(full, Tile::kStageBytes);
          bulk_copy(ring + at.index * Tile::kStageBytes, source, Tile::kStageBytes, full);
          source += Tile::kStageBytes;
          at.advance(shape.filter_depth);
        }
      }
    }
  } else {
    take_registers<Tile::kConsumerRegisters>();
    staging += group * Tile::kStagingFloats;
    const uint32_t staged = staging_barriers + group * kBarrierPairBytes,
                   staging_free = staged + kBarrierBytes;
    uint32_t staging_parity = 0;
    const bool signals = threadIdx.x % 32 == 0;
    RingPosition stage, input;
    int first = 0, filter_tile = 0;
    for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
      first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels + group * Tile::kPixelsOfGroup;
      float sums[Tile::kTilesM][Tile::kFilters / 2];
      // Barriers to arrive at when the products in flight are done; 0: none.
      uint32_t stage_read = 0, input_read = 0;
      bool add = false;
      for (int slice = 0; slice < shape.slices; ++slice) {
        barrier_wait(input_barriers + input.index * kBarrierPairBytes, input.parity);
        // Descriptors count in 16 bytes, which is one pixel of a piece.
        uint64_t a = operand_descriptor(
            inputs + input.index * slice_bytes + group * Tile::kPixelsOfGroup * 16, shape.pitch * 16);
        int s = 0;
        for (int part = 0; part < stages_of_slice; ++part) {
          barrier_wait(filter_barriers + stage.index * kBarrierPairBytes, stage.parity);
          const uint64_t b = operand_descriptor(ring + stage.index * Tile::kStageBytes, Tile::kFilters * 16);
#pragma unroll
          for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
          wgmma_fence();
          // Unrolled, because in a loop the compiler ends a group of products in each round.
#pragma unroll
          for (int tap = 0; tap < Tile::kStageTaps; ++tap) {
#pragma unroll
            for (int m = 0; m < Tile::kTilesM; ++m) {
              wgmma<Tile::kMath>(sums[m], a + m * kWarpgroupRows, b + tap * (Tile::kTapBytes / 16),
                                 tap > 0 || add);
            }
            const bool last = ++s == shape.s;
            a += last ? shape.tap_row - (shape.s - 1) * shape.tap_column : shape.tap_column;
            s = last ? 0 : s;
          }
          add = true;
          wgmma_commit();
#pragma unroll
          for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
          wgmma_wait<1>();  // the products before these have read their stage
          if (signals && stage_read) barrier_arrive(stage_read);
          if (signals && input_read) barrier_arrive(input_read);
          input_read = 0;
          stage_read = filter_barriers + stage.index * kBarrierPairBytes + kBarrierBytes;
          stage.advance(shape.filter_depth);
        }
        input_read = input_barriers + input.index * kBarrierPairBytes + kBarrierBytes;
        input.advance(shape.input_depth);
      }
      wgmma_wait<0>();
#pragma unroll
      for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
      if (signals) {
        barrier_arrive(stage_read);
        barrier_arrive(input_read);
      }
      barrier_wait(staging_free, staging_parity ^ 1);  // the tile before has been stored
      staging_parity ^= 1;
      wgmma_stage<Tile>(sums, staging);
      if (tile + static_cast<int>(gridDim.x) < shape.tiles) barrier_arrive(staged);
    }
    // The last tile, outside of the loop: there the registers of the sums are free.
    named_barrier<kWarpgroup>(1 + group);
    wgmma_store<Tile>(shape, staging, bias, y, first, filter_tile * Tile::kFilters,
                      static_cast<int>(threadIdx.x) / 32 % 4, 4);
  }
}

}  // namespace lenslet
