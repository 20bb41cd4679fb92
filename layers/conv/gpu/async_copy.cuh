// Asynchronous copies from global to shared memory (cp.async), compute capability 8.0 and later.
//
// A copy needs no registers, and no thread waits for it until wait_for_copies. PTX ISA, "Data movement and conversion
// instructions: cp.async".
#pragma once

#include <cstdint>

namespace lenslet {

/// The 32-bit address that copies take; of an object in shared memory.
__device__ __forceinline__ uint32_t shared_address(const void* object) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(object));
}

// Declared for every architecture, so that templates compile; kernels that use them are launched from 8.0 on
// only.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define LENSLET_ASYNC_COPY(...) asm volatile(__VA_ARGS__)
#else
#define LENSLET_ASYNC_COPY(...) __trap()
#endif

/// 4 bytes.
__device__ __forceinline__ void copy_async_4(uint32_t target, const float* source) {
  LENSLET_ASYNC_COPY("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(target), "l"(source));
}
/// Copies 4 bytes, or zero if not `wanted`; then `source` is not read.
__device__ __forceinline__ void copy_async_4_or_zero(uint32_t target, const float* source, bool wanted) {
  LENSLET_ASYNC_COPY("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(target), "l"(source),
                     "r"(wanted ? 4 : 0));
}
/// 16 bytes, past L1; both addresses 16-byte aligned.
__device__ __forceinline__ void copy_async_16(uint32_t target, const float* source) {
  LENSLET_ASYNC_COPY("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(target), "l"(source));
}
__device__ __forceinline__ void copy_async_16_or_zero(uint32_t target, const float* source, bool wanted) {
  LENSLET_ASYNC_COPY("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(target), "l"(source),
                     "r"(wanted ? 16 : 0));
}
/// The same if `run`, without a branch; else does nothing.
__device__ __forceinline__ void copy_async_16_or_zero_if(bool run, uint32_t target, const float* source,
                                                         bool wanted) {
  LENSLET_ASYNC_COPY(
      "{\n.reg .pred run;\nsetp.ne.b32 run, %3, 0;\n@run cp.async.cg.shared.global [%0], [%1], 16, "
      "%2;\n}\n" ::"r"(target),
      "l"(source), "r"(wanted ? 16 : 0), "r"(static_cast<int>(run)));
}
/// Ends a group: what this thread copied since the last one.
__device__ __forceinline__ void commit_copies() { LENSLET_ASYNC_COPY("cp.async.commit_group;\n"); }
/// Until no more than kPending groups of this thread are on their way. Others' copies need a barrier after
/// it.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  LENSLET_ASYNC_COPY("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

#undef LENSLET_ASYNC_COPY

}  // namespace lenslet
