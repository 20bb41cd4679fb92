// Hopper's asynchronous instructions: wgmma, bulk copies and the barriers between them (PTX ISA 8.0 and later).
// Only for sm_90a.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "framework/tensor/math_mode.h"

namespace lenslet::hopper {

// ---- barriers in shared memory; a wait names the parity of the phase that it waits for

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and has the phase also wait for `bytes` of bulk copies.
__device__ __forceinline__ void barrier_arrive_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra leave;\n"
      "bra again;\n"
      "leave:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
/// Makes initialised barriers known to the copy engine; a block-wide barrier must follow.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
/// Makes this thread's ordinary stores to shared memory visible to wgmma, after a barrier.
__device__ __forceinline__ void fence_stores_for_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// `bytes` (a multiple of 16) from 16-byte aligned global memory; counted by `barrier`.
__device__ __forceinline__ void bulk_copy(uint32_t target, const void* source, int bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}
/// Waits for the 128 threads of a warpgroup; `id` 1..15 names the barrier.
__device__ __forceinline__ void warpgroup_barrier(int id) {
  asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory");
}
template <int kRegisters>
__device__ __forceinline__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- wgmma

/// Describes a K-major operand without swizzle: core matrices of 8 rows x 16 bytes, each 128 contiguous bytes; the next
/// 8 rows follow 128 bytes on, the next 16 bytes of K `piece_bytes` on. The rows of a core matrix only have to lie 16
/// bytes apart, so the operand may start at any multiple of 16 bytes.
__device__ __forceinline__ uint64_t operand_descriptor(uint32_t address, int piece_bytes) {
  return static_cast<uint64_t>(address >> 4 & 0x3fff) | static_cast<uint64_t>(piece_bytes >> 4) << 16 |
         static_cast<uint64_t>(128 >> 4) << 32;
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
/// Keeps the compiler from moving accesses to sums across the asynchronous instructions.
template <int kCount>
__device__ __forceinline__ void wgmma_hold(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// Parts of wgmma's text: the registers of the sums, and the constraints that bind d to them.
#define LENSLET_REGISTERS_32                                               \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LENSLET_REGISTERS_64                                                           \
  LENSLET_REGISTERS_32                                                                 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define LENSLET_SUMS_8(i)                                                                     \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define LENSLET_SUMS_32(i) \
  LENSLET_SUMS_8(i), LENSLET_SUMS_8(i + 8), LENSLET_SUMS_8(i + 16), LENSLET_SUMS_8(i + 24)
// `a_b`: the registers of the operands; `scales`: 1 for both, and that fp16's operands are K-major.
#define LENSLET_WGMMA(instruction, registers, a_b, add_register, scales, ...)                               \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_register                                         \
               ", 0;\n"                                                                                     \
               "wgmma.mma_async.sync.aligned." instruction " {" registers "}, " a_b ", add, " scales ";\n}" \
               : __VA_ARGS__                                                                                \
               : "l"(a), "l"(b), "r"(static_cast<int>(add)))

/// d[64 x 64] (+)= a[64 x 32 bytes] * b[32 bytes x 64], both from shared memory; d starts at zero where `add` is false.
template <MathMode kMath>
__device__ __forceinline__ void wgmma(float (&d)[32], uint64_t a, uint64_t b, bool add) {
  if constexpr (kMath == MathMode::kTf32) {
    LENSLET_WGMMA("m64n64k8.f32.tf32.tf32", LENSLET_REGISTERS_32, "%32, %33", "%34", "1, 1",
                  LENSLET_SUMS_32(0));
  } else {
    LENSLET_WGMMA("m64n64k16.f32.f16.f16", LENSLET_REGISTERS_32, "%32, %33", "%34", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0));
  }
}

/// Like wgmma() above, for b[32 bytes x 128].
template <MathMode kMath>
__device__ __forceinline__ void wgmma(float (&d)[64], uint64_t a, uint64_t b, bool add) {
  if constexpr (kMath == MathMode::kTf32) {
    LENSLET_WGMMA("m64n128k8.f32.tf32.tf32", LENSLET_REGISTERS_64, "%64, %65", "%66", "1, 1",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32));
  } else {
    LENSLET_WGMMA("m64n128k16.f32.f16.f16", LENSLET_REGISTERS_64, "%64, %65", "%66", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32));
  }
}

#undef LENSLET_REGISTERS_32
#undef LENSLET_REGISTERS_64
#undef LENSLET_SUMS_8
#undef LENSLET_SUMS_32
#undef LENSLET_WGMMA

}  // namespace lenslet::hopper
