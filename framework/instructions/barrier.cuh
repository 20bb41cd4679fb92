// Barriers: of some warps of a block; and in shared memory (mbarrier), from compute capability 9.0 on, with the bulk
// copies that complete them. Internal: includes CUDA. PTX ISA, "bar", "mbarrier" and "cp.async.bulk".
#pragma once

#include <cstdint>

#include "framework/instructions/architecture.cuh"

namespace lenslet {

/// Waits for kThreads threads of the block, whole warps; `id` 1..15 names the barrier.
template <int kThreads>
__device__ __forceinline__ void named_barrier(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(kThreads) : "memory");
}

// ---- barriers in shared memory, at a shared address (shared_address()); a wait names the parity of the phase that it
// waits for

constexpr int kBarrierBytes = 8;                      // of one barrier
constexpr int kBarrierPairBytes = 2 * kBarrierBytes;  // of a buffer of a ring: `full`, then `free`

/// A phase ends after `arrivals` arrivals, and after the bytes that it expects.
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
  LENSLET_FROM_SM(90, asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                                   : "memory"));
}
/// Makes initialised barriers visible to the cluster and its copies; a barrier of the block or cluster must follow.
__device__ __forceinline__ void fence_barrier_init() {
  LENSLET_FROM_SM(90, asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"));
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  LENSLET_FROM_SM(90, asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"));
}
/// Arrives, and has the phase also wait for `bytes` of bulk copies.
__device__ __forceinline__ void barrier_arrive_expect(uint32_t barrier, int bytes) {
  LENSLET_FROM_SM(
      90, asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                       : "memory"));
}
/// Waits for the phase; then what this block wrote before its arrivals is visible.
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  LENSLET_FROM_SM(90, asm volatile("{\n.reg .pred done;\nagain:\n"
                                   "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                                   "@!done bra again;\n}" ::"r"(barrier),
                                   "r"(parity)
                                   : "memory"));
}
/// Makes this thread's ordinary accesses to shared memory visible to bulk copies and wgmma, after a barrier.
__device__ __forceinline__ void fence_async_proxy() {
  LENSLET_FROM_SM(90, asm volatile("fence.proxy.async.shared::cta;" ::: "memory"));
}
/// Starts a copy of `bytes`, a multiple of 16, from global memory, both 16-byte aligned; `barrier` must expect them.
__device__ __forceinline__ void bulk_copy(uint32_t target, const void* source, int bytes, uint32_t barrier) {
  LENSLET_FROM_SM(
      90, asm volatile(
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                  target),
              "l"(source), "r"(bytes), "r"(barrier)
              : "memory"));
}

/// Position in a ring of buffers with a pair of barriers each, and the parity of its current round. Users compute the
/// addresses of a pair in place: with a function for them the compiler schedules the wgmma kernels otherwise.
struct RingPosition {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance(int depth) {
    if (++index == depth) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace lenslet
