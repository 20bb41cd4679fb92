// Hopper's products of a warpgroup, wgmma, and the registers for them. Only for sm_90a. Internal: includes CUDA. PTX
// ISA, "wgmma" and "setmaxnreg".
#pragma once

#include <cstdint>

#include "framework/tensor/math_mode.h"

namespace lenslet::hopper {

// ---- registers of a warpgroup

/// Limits this warpgroup to kRegisters per thread and returns the rest to the block's pool.
template <int kRegisters>
__device__ __forceinline__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
/// Waits until the pool has kRegisters per thread for this warpgroup.
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
/// Describes a K-major operand in rows of 128 bytes, 1024-byte aligned, whose 16-byte pieces are permuted by the
/// 128-byte swizzle: piece i of row r lies at piece i ^ (r % 8). Of 64 bytes, 512-byte aligned, by the 64-byte swizzle:
/// at piece i ^ (r / 2 % 4). The next 32 bytes of K begin at the descriptor + 2.
template <int kRowBytes = 128>
__device__ __forceinline__ uint64_t swizzled_operand_descriptor(uint32_t address) {
  static_assert(kRowBytes == 128 || kRowBytes == 64);
  return static_cast<uint64_t>(address >> 4 & 0x3fff) | static_cast<uint64_t>(8 * kRowBytes >> 4) << 32 |
         uint64_t{kRowBytes == 128 ? 1 : 2} << 62;
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
#define LENSLET_REGISTERS_96                                                           \
  LENSLET_REGISTERS_64                                                                 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define LENSLET_REGISTERS_128                                                                      \
  LENSLET_REGISTERS_96                                                                             \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
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
/// kBf16: operands of 16 bits are bfloat16, not fp16; only with mode fp16.
template <MathMode kMath, bool kBf16 = false>
__device__ __forceinline__ void wgmma(float (&d)[32], uint64_t a, uint64_t b, bool add) {
  if constexpr (kMath == MathMode::kTf32) {
    LENSLET_WGMMA("m64n64k8.f32.tf32.tf32", LENSLET_REGISTERS_32, "%32, %33", "%34", "1, 1",
                  LENSLET_SUMS_32(0));
  } else if constexpr (kBf16) {
    LENSLET_WGMMA("m64n64k16.f32.bf16.bf16", LENSLET_REGISTERS_32, "%32, %33", "%34", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0));
  } else {
    LENSLET_WGMMA("m64n64k16.f32.f16.f16", LENSLET_REGISTERS_32, "%32, %33", "%34", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0));
  }
}

/// Like wgmma() above, for b[32 bytes x 128].
template <MathMode kMath, bool kBf16 = false>
__device__ __forceinline__ void wgmma(float (&d)[64], uint64_t a, uint64_t b, bool add) {
  if constexpr (kMath == MathMode::kTf32) {
    LENSLET_WGMMA("m64n128k8.f32.tf32.tf32", LENSLET_REGISTERS_64, "%64, %65", "%66", "1, 1",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32));
  } else if constexpr (kBf16) {
    LENSLET_WGMMA("m64n128k16.f32.bf16.bf16", LENSLET_REGISTERS_64, "%64, %65", "%66", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32));
  } else {
    LENSLET_WGMMA("m64n128k16.f32.f16.f16", LENSLET_REGISTERS_64, "%64, %65", "%66", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32));
  }
}

/// Like wgmma() above, for b[32 bytes x 192] in tf32.
template <MathMode kMath, bool kBf16 = false>
__device__ __forceinline__ void wgmma(float (&d)[96], uint64_t a, uint64_t b, bool add) {
  static_assert(kMath == MathMode::kTf32);
  LENSLET_WGMMA("m64n192k8.f32.tf32.tf32", LENSLET_REGISTERS_96, "%96, %97", "%98", "1, 1",
                LENSLET_SUMS_32(0), LENSLET_SUMS_32(32), LENSLET_SUMS_32(64));
}

/// Like wgmma() above, for b[32 bytes x 256] of 16-bit operands.
template <MathMode kMath, bool kBf16 = false>
__device__ __forceinline__ void wgmma(float (&d)[128], uint64_t a, uint64_t b, bool add) {
  static_assert(kMath == MathMode::kFp16);
  if constexpr (kBf16) {
    LENSLET_WGMMA("m64n256k16.f32.bf16.bf16", LENSLET_REGISTERS_128, "%128, %129", "%130", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32), LENSLET_SUMS_32(64), LENSLET_SUMS_32(96));
  } else {
    LENSLET_WGMMA("m64n256k16.f32.f16.f16", LENSLET_REGISTERS_128, "%128, %129", "%130", "1, 1, 0, 0",
                  LENSLET_SUMS_32(0), LENSLET_SUMS_32(32), LENSLET_SUMS_32(64), LENSLET_SUMS_32(96));
  }
}

#undef LENSLET_REGISTERS_32
#undef LENSLET_REGISTERS_64
#undef LENSLET_REGISTERS_96
#undef LENSLET_REGISTERS_128
#undef LENSLET_SUMS_8
#undef LENSLET_SUMS_32
#undef LENSLET_WGMMA

}  // namespace lenslet::hopper
