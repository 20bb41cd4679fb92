// Copies of the tensor memory accelerator (TMA), from compute capability 9.0 on. Internal: includes CUDA. PTX ISA,
// "cp.async.bulk.tensor", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group" and "prefetch.tensormap".
#pragma once

#include <cuda.h>

#include <cstdint>

#include "framework/instructions/architecture.cuh"

namespace lenslet {

/// Fetches the description before the first copy needs it. `map` is a __grid_constant__ parameter.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap& map) {
  LENSLET_FROM_SM(90, asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(&map))
                                   : "memory"));
}
/// Where an im2col copy begins: a pixel of the bounding box, how far its tap lies from it, and the first channel.
struct Im2colStart {
  int n, h, w, h_offset, w_offset, c;
};
/// Starts an im2col copy of one box from a tensor [N, H, W, C]: the map's number of pixels, each with the map's number
/// of channels. Places outside of the tensor become zero. `barrier` must expect the bytes of a whole box.
__device__ __forceinline__ void im2col_copy(uint32_t target, const CUtensorMap& map, const Im2colStart& start,
                                            uint32_t barrier) {
  LENSLET_FROM_SM(
      90,
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
          "{%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(target),
          "l"(reinterpret_cast<uint64_t>(&map)), "r"(start.c), "r"(start.w), "r"(start.h), "r"(start.n),
          "r"(barrier), "h"(static_cast<uint16_t>(start.w_offset)), "h"(static_cast<uint16_t>(start.h_offset))
          : "memory"));
}

/// Starts a copy of the map's box from shared memory to a tensor of rows and columns. What lies outside of the tensor
/// is not stored. fence_async_proxy() and a barrier come before it.
__device__ __forceinline__ void store_box(const CUtensorMap& map, uint32_t source, int column, int row) {
  LENSLET_FROM_SM(
      90, asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
                           reinterpret_cast<uint64_t>(&map)),
                       "r"(source), "r"(column), "r"(row)
                       : "memory"));
}
/// Ends a group: this thread's stores since the last group.
__device__ __forceinline__ void commit_bulk_stores() {
  LENSLET_FROM_SM(90, asm volatile("cp.async.bulk.commit_group;" ::: "memory"));
}
/// Waits until all groups of this thread have read shared memory.
__device__ __forceinline__ void bulk_stores_read() {
  LENSLET_FROM_SM(90, asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"));
}

}  // namespace lenslet
