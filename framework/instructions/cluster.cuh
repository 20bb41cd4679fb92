// Clusters of blocks, from compute capability 9.0 on: ranks, barriers of the cluster, loads from another block's shared
// memory, and copies to several blocks. Internal: includes CUDA. PTX ISA, "mapa", "barrier.cluster",
// "ld.shared::cluster", "mbarrier.arrive" and "cp.async.bulk".
#pragma once

#include <cstdint>

#include "framework/instructions/architecture.cuh"

namespace lenslet {

__device__ __forceinline__ int cluster_rank() {
  uint32_t rank = 0;
  LENSLET_FROM_SM(90, asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)));
  return static_cast<int>(rank);
}
/// The same place in block `rank`'s shared memory.
__device__ __forceinline__ uint32_t in_block(uint32_t address, int rank) {
  uint32_t there = 0;
  LENSLET_FROM_SM(90, asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                                   : "=r"(there)
                                   : "r"(address), "r"(rank)));
  return there;
}

/// All threads of the cluster arrive, then wait. Writes before the arrival are visible to all after the wait.
__device__ __forceinline__ void cluster_arrive() {
  LENSLET_FROM_SM(90, asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"));
}
/// The same without memory ordering: only for barriers, which fence_barrier_init() makes visible.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  LENSLET_FROM_SM(90, asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"));
}
__device__ __forceinline__ void cluster_wait() {
  LENSLET_FROM_SM(90, asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"));
}

/// Four floats of another block's shared memory, at an address of in_block() that is a multiple of 16 bytes.
__device__ __forceinline__ float4 load_in_cluster(uint32_t address) {
  float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  LENSLET_FROM_SM(90, asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                                   : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                                   : "r"(address)
                                   : "memory"));
  return four;
}

/// Arrives at a barrier in any block's shared memory, at an address of in_block().
__device__ __forceinline__ void arrive_in_cluster(uint32_t barrier) {
  LENSLET_FROM_SM(90, asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory"));
}
/// bulk_copy() of framework/instructions/barrier.cuh to the blocks whose bits `blocks` has (multicast): each receives
/// the bytes at the same place of its shared memory, and the barrier at the same place of each must expect them.
__device__ __forceinline__ void bulk_copy_to_blocks(uint32_t target, const void* source, int bytes,
                                                    uint32_t barrier, uint16_t blocks) {
  LENSLET_FROM_SM(
      90, asm volatile(
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
              "[%1], %2, [%3], %4;" ::"r"(target),
              "l"(source), "r"(bytes), "r"(barrier), "h"(blocks)
              : "memory"));
}

}  // namespace lenslet
