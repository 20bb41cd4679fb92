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
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/tensor_core/tma_tile.cuh"

namespace lenslet {

/// The tensors of a convolution, described for TMA.
struct TmaMaps {
  CUtensorMap x;  // [N, H, W, C], elements of the operands, in im2col mode
  CUtensorMap y;  // [N*P*Q, K], of tiles that store boxes
};

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
                                               float* __restrict__ y, uint32_t sums, int rank,
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
      tma_store_16_bits(shape, reinterpret_cast<uint16_t*>(y), tile.position + row, first_filter + filter,
                        four);
    } else {
      tma_store<Tile>(shape, bias, y, tile.position + row, first_filter + filter, total);
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
    float* __restrict__ y) {                    // [N, K, P, Q] or [N, P, Q, K]; with k16Bits of 16 bits
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
          tma_store_all_16_bits<Tile>(shape, bias, reinterpret_cast<uint16_t*>(y), position, first_filter,
                                      sums);
        } else {
          for_each_four(sums, [&](int row, int filter, float4 four) {
            tma_store<Tile>(shape, bias, y, position + row, first_filter + filter, four);
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
