// Asynchronous copies from global to shared memory (cp.async), compute capability 8.0 and later; and copies that are
// asynchronous from there on and ordinary loads and stores before. Internal: includes CUDA.
//
// A copy needs no registers, and no thread waits for it until wait_for_copies. PTX ISA, "Data movement and conversion
// instructions: cp.async".
#pragma once

#include <cuda_pipeline.h>

#include <cstddef>
#include <cstdint>

#include "framework/instructions/architecture.cuh"

namespace lenslet {

/// The 32-bit shared-memory address that the copies use.
__device__ __forceinline__ uint32_t shared_address(const void* object) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(object));
}

/// Copies 4 bytes.
__device__ __forceinline__ void copy_async_4(uint32_t target, const void* source) {
  LENSLET_FROM_SM(80, asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(target), "l"(source)));
}
/// Copies 4 bytes; if not `wanted`, writes zero and does not read `source`.
__device__ __forceinline__ void copy_async_4_or_zero(uint32_t target, const void* source, bool wanted) {
  LENSLET_FROM_SM(80, asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(target),
                                   "l"(source), "r"(wanted ? 4 : 0)));
}
/// Copies 16 bytes, bypassing L1; both addresses are 16-byte aligned.
__device__ __forceinline__ void copy_async_16(uint32_t target, const void* source) {
  LENSLET_FROM_SM(80, asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(target), "l"(source)));
}
__device__ __forceinline__ void copy_async_16_or_zero(uint32_t target, const void* source, bool wanted) {
  LENSLET_FROM_SM(80, asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(target),
                                   "l"(source), "r"(wanted ? 16 : 0)));
}
/// Like copy_async_16_or_zero() if `run`, without a branch; otherwise does nothing.
__device__ __forceinline__ void copy_async_16_or_zero_if(bool run, uint32_t target, const void* source,
                                                         bool wanted) {
  LENSLET_FROM_SM(80, asm volatile("{\n.reg .pred run;\nsetp.ne.b32 run, %3, 0;\n"
                                   "@run cp.async.cg.shared.global [%0], [%1], 16, %2;\n}\n" ::"r"(target),
                                   "l"(source), "r"(wanted ? 16 : 0), "r"(static_cast<int>(run))));
}
/// Ends a group: the copies of this thread since the last group.
__device__ __forceinline__ void commit_copies() {
  LENSLET_FROM_SM(80, asm volatile("cp.async.commit_group;\n"));
}
/// Waits until at most kPending groups of this thread are in flight. Copies of other threads also need a barrier.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  LENSLET_FROM_SM(80, asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory"));
}

// ---- copies of every architecture, by CUDA's pipeline primitives; before 8.0 they end before the call returns

/// Copies kBytes (4, 8 or 16) to shared memory; both addresses are aligned to as many.
template <size_t kBytes>
__device__ __forceinline__ void start_copy(void* target, const void* source) {
  __pipeline_memcpy_async(target, source, kBytes);
}
/// The same; if not `wanted`, writes zeros and does not read `source`, which still is an address in global memory.
template <size_t kBytes>
__device__ __forceinline__ void start_copy_or_zero(void* target, const void* source, bool wanted) {
  __pipeline_memcpy_async(target, source, kBytes, wanted ? 0 : kBytes);
}
/// Like commit_copies().
__device__ __forceinline__ void commit_started_copies() { __pipeline_commit(); }
/// Like wait_for_copies().
template <int kPending>
__device__ __forceinline__ void wait_for_started_copies() {
  __pipeline_wait_prior(kPending);
}

}  // namespace lenslet
