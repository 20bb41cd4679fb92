// Stores into the shared memory of another block of a cluster that complete a barrier there, from compute capability
// 9.0 on. Internal: includes CUDA. After the PTX ISA, "mbarrier" and "st.async".
//
// The overloads of barrier_init(), barrier_arrive_expect(), barrier_wait() and bulk_copy() take pointers, and the wait
// acquires at the scope of the cluster. framework/instructions/barrier.cuh has the wrappers for addresses; with them
// the compiler generates other code for the medium kernel.
#pragma once

#include <cstdint>

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/cluster.cuh"
#include "framework/instructions/early_launch.cuh"

namespace lenslet::cluster_lenet5 {

/// A barrier in shared memory that completes a phase when one thread and its expected number of bytes have arrived.
__device__ __forceinline__ void barrier_init(uint64_t* barrier) {
  LENSLET_FROM_SM(90, asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                                   : "memory"));
}
__device__ __forceinline__ void barrier_arrive_expect(uint64_t* barrier, int bytes) {
  LENSLET_FROM_SM(
      90,
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                   "r"(bytes)
                   : "memory"));
}
__device__ __forceinline__ void barrier_wait(uint64_t* barrier, uint32_t parity) {
  LENSLET_FROM_SM(90,
                  asm volatile("{\n.reg .pred done;\nagain:\n"
                               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                               "@!done bra again;\n}" ::"r"(shared_address(barrier)),
                               "r"(parity)
                               : "memory"));
}

/// Stores, if `wanted`, that count towards a barrier of the destination block.
__device__ __forceinline__ void store_async(bool wanted, uint32_t target, float value, uint32_t barrier) {
  LENSLET_FROM_SM(
      90, asm volatile(
              "{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %3, 0;\n"
              "@wanted st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];\n}" ::"r"(
                  target),
              "f"(value), "r"(barrier), "r"(static_cast<int>(wanted))
              : "memory"));
}
__device__ __forceinline__ void store_async(bool wanted, uint32_t target, uint64_t value, uint32_t barrier) {
  LENSLET_FROM_SM(
      90, asm volatile(
              "{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %3, 0;\n"
              "@wanted st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];\n}" ::"r"(
                  target),
              "l"(value), "r"(barrier), "r"(static_cast<int>(wanted))
              : "memory"));
}
__device__ __forceinline__ void store_async(bool wanted, uint32_t target, uint4 value, uint32_t barrier) {
  LENSLET_FROM_SM(90, asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %6, 0;\n"
                                   "@wanted st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                                   "[%0], {%1,%2,%3,%4}, [%5];\n}" ::"r"(target),
                                   "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier),
                                   "r"(static_cast<int>(wanted))
                                   : "memory"));
}

/// Starts a copy of multiples of 16 bytes from device memory; the barrier must expect them.
__device__ __forceinline__ void bulk_copy(void* target, const void* source, int bytes, uint64_t* barrier) {
  LENSLET_FROM_SM(
      90, asm volatile(
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                  shared_address(target)),
              "l"(source), "r"(bytes), "r"(shared_address(barrier))
              : "memory"));
}

}  // namespace lenslet::cluster_lenet5
