// Convolution with Hopper's warpgroup products on an im2col matrix that the tensor memory accelerator (TMA) gathers.
//
// A copy of TMA in im2col mode takes the inputs of a run of output positions for one tap and a row of channels. It
// walks the rows and images by itself, with any stride and dilation, writes zeros for the padding, and rounds fp32 to
// tf32 on the way, to nearest. One thread starts all copies: no other computes an address of an input. PTX ISA,
// "Tensors"; CUDA Driver API, cuTensorMapEncodeIm2col. Where tiles are few, their sums are split over a cluster
// (split-K). Tensors of fp16 and bf16 are copied and multiplied as they are; the sums are rounded when they are stored.
// Where y allows it, TMA stores them, too: a tile's sums leave shared memory while the next tile is multiplied.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/cluster.cuh"
#include "framework/instructions/early_launch.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/instructions/tensor_copy.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/tensor_core/tma_store.cuh"
#include "layers/conv/gpu/tensor_core/tma_tile.cuh"

namespace lenslet {

/// The tensors of a convolution, described for TMA.
struct TmaMaps {
  CUtensorMap x;  // [N, H, W, C], elements of the operands, in im2col mode
  CUtensorMap y;  // [N*P*Q, K], of tiles that store boxes
};

/// Where the copies for a tile begin, for the first tap and channel.
__device__ __forceinline__ Im2colStart tma_window_start(const TmaShape& shape, int position) {
  int rest, q;
  Im2colStart start{};
  start.n = shape.by_plane.divide(position, rest);
  start.h = shape.by_q.divide(rest, q) * shape.stride_h - shape.pad_h;
  start.w = q * shape.stride_w - shape.pad_w;
  return start;
}

/// Products [first, end) of a tile's sum that this block computes, a step each.
struct TmaProducts {
  int first, end;
};

/// Where a block has its ring and the barriers of its stages, in shared memory.
struct TmaRing {
  uint32_t stages, barriers;
};

/// Starts the copies of a tile. Those of the filters of the first tile do not wait for the launch before, which writes
/// no filters.
template <class Tile>
__device__ __forceinline__ void tma_load(const TmaShape& shape, const CUtensorMap& x,
                                         const unsigned char* __restrict__ filters, const TmaRing& memory,
                                         const TmaTileStart& tile, const TmaProducts& products,
                                         bool is_first_tile, RingPosition& ring) {
  int run, column;
  Im2colStart start = tma_window_start(shape, tile.position);
  const int tap = shape.by_runs.divide(products.first, run);
  int row = shape.by_s.divide(tap, column);
  const unsigned char* source =
      filters +
      (static_cast<int64_t>(tile.filter_tile) * shape.products + products.first) * Tile::kFilterBytes;
  int early = 0;  // steps whose filters are under way
  if (is_first_tile) {
    for (; early < min(Tile::kStages, products.end - products.first); ++early) {
      const uint32_t full = memory.barriers + early * kBarrierPairBytes;
      barrier_arrive_expect(full, Tile::kStageBytes);
      bulk_copy(memory.stages + early * Tile::kStageBytes + Tile::kInputBytes, source, Tile::kFilterBytes,
                full);
      source += Tile::kFilterBytes;
    }
    wait_for_launch_before();
  }
  for (int product = products.first; product < products.end; ++product) {
    const uint32_t full = memory.barriers + ring.index * kBarrierPairBytes, free = full + kBarrierBytes;
    const uint32_t inputs = memory.stages + ring.index * Tile::kStageBytes;
    if (early > 0) {
      --early;
    } else {
      barrier_wait(free, ring.parity ^ 1);
      barrier_arrive_expect(full, Tile::kStageBytes);
      bulk_copy(inputs + Tile::kInputBytes, source, Tile::kFilterBytes, full);
      source += Tile::kFilterBytes;
    }
    start.c = run * Tile::kChannels;
    start.h_offset = row * shape.dilation_h;
    start.w_offset = column * shape.dilation_w;
    im2col_copy(inputs, x, start, full);
    ring.advance(Tile::kStages);
    if (++run < shape.runs) continue;
    run = 0;
    if (++column < shape.s) continue;
    column = 0;
    ++row;
  }
}

// computes    y [N, K, P, Q] or [N, P, Q, K] = bias + im2col(x) [N*P*Q, R*S*C] x filters [R*S*C, K]; operands tf32,
//             fp16 or bf16, sums in fp32, optional ReLU
// work split  persistent blocks; a tile = kPositions positions x kFilters filters; a warpgroup multiplies 64 positions,
//             one thread copies. Where tiles are few, the blocks of a cluster have a part of a tile's products each;
//             then each adds up a part of the tile's rows, in the order of the parts
// memory      shared: a ring of kStages steps, positions and filters in swizzled rows of kRowBytes; after the last step
//             the sums of a part; with kBoxes the sums that TMA stores
// requires    sm_90a (make_kernel of tensor_core.cu); one group, 16 channels (of 16 bits: a multiple of 8), 32 filters,
//             strides up to 8, offsets that TMA encodes (supports() of hopper_tma.cu); products >= parts; with kBoxes
//             filters in whole pieces of 16 bytes (tma_choice.h)
// measured    H200, hot, tf32, NHWC: 64 images, 256 channels, 28 x 28, 256 filters 3x3, stride 2: 54.8 us = 270 TFLOP/s
//             (docs/results/2026-11-30-h200/resnet50-tf32.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks) conv_tensor_core_tma_kernel(
    const TmaShape shape, const __grid_constant__ TmaMaps maps,
    const unsigned char* __restrict__ filters,  // [filter tiles, products, kFilters] rows of kRowBytes, swizzled
    const float* __restrict__ bias,             // [filter tiles * kFilters]
    void* __restrict__ y) {  // [N, K, P, Q] or [N, P, Q, K]; fp32, with k16Bits fp16 or bf16
  using namespace hopper;
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int kBoxesOffset = Tile::kStages * Tile::kStageBytes;
  const uint32_t stages = shared_address(shared), boxes = stages + kBoxesOffset;
  const TmaRing memory{stages, boxes + Tile::kBoxBytes * Tile::kGroups};
  const int group =
      __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kWarpgroup, 0);  // the same for a warp
  if (threadIdx.x == 0) {
    prefetch_tensor_map(maps.x);
    for (int i = 0; i < Tile::kStages; ++i) {
      barrier_init(memory.barriers + i * kBarrierPairBytes, 1);
      barrier_init(memory.barriers + i * kBarrierPairBytes + kBarrierBytes, kWarpgroupWarps * Tile::kGroups);
    }
    fence_barrier_init();
    fence_async_proxy();
  }
  __syncthreads();
  let_next_launch_begin();
  const int parts = Tile::kSplits ? shape.parts : 1, rank = parts > 1 ? cluster_rank() : 0;
  const int first_tile = static_cast<int>(blockIdx.x) / parts, stride = static_cast<int>(gridDim.x) / parts;
  const TmaProducts products{rank * shape.products / parts, (rank + 1) * shape.products / parts};
  RingPosition ring;
  if (group == Tile::kGroups) {
    if (threadIdx.x % 32 == 0) {
      for (int tile = first_tile; tile < shape.tiles; tile += stride) {
        tma_load<Tile>(shape, maps.x, filters, memory, tma_tile_start<Tile>(shape, tile), products,
                       tile == first_tile, ring);
      }
    }
    __syncwarp();
    if (parts > 1) {
      cluster_arrive();
      cluster_wait();
    }
  } else {
    wait_for_launch_before();
    const bool signals = threadIdx.x % 32 == 0;
#pragma unroll 1
    for (int tile = first_tile; tile < shape.tiles; tile += stride) {
      const TmaTileStart start = tma_tile_start<Tile>(shape, tile);
      const int first_filter = start.filter_tile * Tile::kFilters,
                position = start.position + group * kWarpgroupRows;
      float sums[Tile::kFilters / 2];
      uint32_t read = 0;  // the barrier of the step whose products are in flight; 0: none
      bool add = false;
      int product = products.first;
#pragma unroll 1
      do {
        const uint32_t full = memory.barriers + ring.index * kBarrierPairBytes,
                       inputs = stages + ring.index * Tile::kStageBytes;
        barrier_wait(full, ring.parity);
        const uint64_t a =
            swizzled_operand_descriptor<Tile::kRowBytes>(inputs + group * kWarpgroupRows * Tile::kRowBytes);
        const uint64_t b = swizzled_operand_descriptor<Tile::kRowBytes>(inputs + Tile::kInputBytes);
        wgmma_hold(sums);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < Tile::kRowBytes / 32; ++i)
          wgmma<Tile::kMath, Tile::kBf16>(sums, a + 2 * i, b + 2 * i, i > 0 || add);
        add = true;
        wgmma_commit();
        wgmma_hold(sums);
        wgmma_wait<1>();  // the products before these have read their step
        if (signals && read) barrier_arrive(read);
        read = full + kBarrierBytes;
        ring.advance(Tile::kStages);
      } while (++product < products.end);
      wgmma_wait<0>();
      wgmma_hold(sums);
      if (parts == 1) {
        if (signals) barrier_arrive(read);
        if constexpr (Tile::kStores == TmaStores::kBoxes) {
          tma_store_boxes<Tile>(shape, bias, maps.y, boxes + group * Tile::kBoxBytes,
                                shared + kBoxesOffset + group * Tile::kBoxBytes, position, first_filter,
                                sums);
        } else if constexpr (Tile::k16Bits) {
          tma_store_all_16_bits<Tile>(shape, bias, static_cast<uint16_t*>(y), position, first_filter, sums);
        } else {
          for_each_four(sums, [&](int row, int filter, float4 four) {
            tma_store<Tile>(shape, bias, static_cast<float*>(y), position + row, first_filter + filter, four);
          });
        }
        continue;
      }
      if constexpr (Tile::kSplits) {
        named_barrier<kWarpgroup * Tile::kGroups>(1);  // no product reads the operands any more
        float* const own = reinterpret_cast<float*>(shared) + group * kWarpgroupRows * Tile::kSumPitch;
        for_each_four(sums, [&](int row, int filter, float4 four) {
          *reinterpret_cast<float4*>(own + row * Tile::kSumPitch + filter) = four;
        });
        cluster_arrive();
        cluster_wait();
        if (parts == 2) {
          tma_store_part<Tile, 2>(shape, bias, y, stages, rank, start);
        } else if (parts == 4) {
          tma_store_part<Tile, 4>(shape, bias, y, stages, rank, start);
        } else {
          tma_store_part<Tile, 8>(shape, bias, y, stages, rank, start);
        }
      }
    }
    if (Tile::kStores == TmaStores::kBoxes && threadIdx.x % kWarpgroup == 0) bulk_stores_read();
  }
  if (parts > 1) {  // no block ends while another reads its sums
    cluster_arrive();
    cluster_wait();
  }
}

}  // namespace lenslet
