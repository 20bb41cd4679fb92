// Warp-wide products on tensor cores, mma.sync, with operands of tf32, fp16 and 8-bit integers, and what prepares their
// operands; compute capability 8.0 and later. Internal: includes CUDA.
//
// What lane = 4 g + t holds, after the PTX ISA, "Matrix fragments for mma.m16n8k16" and "mma.m16n8k8":
//   type  operand     rows                             columns
//   fp16  A [16, K]   g, g + 8                         2t, 2t + 1; for K = 16 also 2t + 8, 2t + 9
//   fp16  B [K, 8]    2t, 2t + 1; for K = 16 also      g
//                     2t + 8, 2t + 9
//   tf32  A [16, 8]   g, g + 8, g, g + 8               t, t, t + 4, t + 4, each with the row in its place
//   tf32  B [8, 8]    t, t + 4                         g
//   int8  A [16, K]   g, g + 8                         4t .. 4t + 3; for K = 32 also 4t + 16 .. 4t + 19
//   int8  B [K, 8]    4t .. 4t + 3; for K = 32 also    g
//                     4t + 16 .. 4t + 19
//   fp32  D [16, 8]   g, g + 8                         2t, 2t + 1; int32 too
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "framework/instructions/architecture.cuh"

namespace lenslet {

/// d [16, 8] = c + a [16, 8] b [8, 8], tf32 products, fp32 sums.
__device__ __forceinline__ void multiply_tf32(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1,
                                              const float (&c)[4]) {
  LENSLET_FROM_SM(
      80, asm volatile(
              "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
              "{%10,%11,%12,%13};"
              : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
              : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                "f"(c[3])));
}
/// d [16, 8] = c + a [16, 16] b [16, 8], fp16 products, fp32 sums.
__device__ __forceinline__ void multiply_fp16(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1,
                                              const float (&c)[4]) {
  LENSLET_FROM_SM(
      80,
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                   "{%10,%11,%12,%13};"
                   : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                   : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]),
                     "f"(c[2]), "f"(c[3])));
}
/// The same of half the depth: a [16, 8] b [8, 8].
__device__ __forceinline__ void multiply_fp16(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t b,
                                              const float (&c)[4]) {
  LENSLET_FROM_SM(
      80, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                       "{%7,%8,%9,%10};"
                       : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                       : "r"(a0), "r"(a1), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])));
}

/// d [16, 8] = c + a [16, 32] b [32, 8], bytes times signed bytes, int32 sums.
__device__ __forceinline__ void multiply_u8_s8(int32_t (&d)[4], const uint4& a, uint32_t b0, uint32_t b1,
                                               const int32_t (&c)[4]) {
  LENSLET_FROM_SM(
      80,
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                   "{%10,%11,%12,%13};"
                   : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                   : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]),
                     "r"(c[2]), "r"(c[3])));
}
/// The same of half the depth: a [16, 16] b [16, 8].
__device__ __forceinline__ void multiply_u8_s8(int32_t (&d)[4], uint32_t a0, uint32_t a1, uint32_t b,
                                               const int32_t (&c)[4]) {
  LENSLET_FROM_SM(
      80, asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                       "{%7,%8,%9,%10};"
                       : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                       : "r"(a0), "r"(a1), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])));
}
/// d [16, 8] = c + a [16, 32] b [32, 8], signed bytes times bytes, int32 sums.
__device__ __forceinline__ void multiply_s8_u8(int32_t (&d)[4], const uint4& a, uint32_t b0, uint32_t b1,
                                               const int32_t (&c)[4]) {
  LENSLET_FROM_SM(
      80,
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                   "{%10,%11,%12,%13};"
                   : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                   : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]),
                     "r"(c[2]), "r"(c[3])));
}

/// Four 8 x 4 matrices of 32 bits from shared memory: lane 8 i + r has the address of row r, 16 bytes, of matrix i.
/// Lane 4 g + t receives column t of row g of each: the layout of an operand of tf32.
__device__ __forceinline__ uint4 load_matrices(uint32_t row) {
  uint4 four = make_uint4(0, 0, 0, 0);
  LENSLET_FROM_SM(80, asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                                   : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
                                   : "r"(row)
                                   : "memory"));
  return four;
}

/// To tf32, to nearest, ties away from zero.
__device__ __forceinline__ uint32_t round_to_tf32(float value) {
  uint32_t rounded = 0;
  LENSLET_FROM_SM(80, asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value)));
  return rounded;
}
/// The same, which the compiler may move past other asm statements. Two forms, because each kernel was measured with
/// one, and the other would change its order of instructions or its registers.
__device__ __forceinline__ uint32_t round_to_tf32_in_any_order(float value) {
  uint32_t rounded = 0;
  LENSLET_FROM_SM(80, asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value)));
  return rounded;
}
/// To tf32, to nearest, which the compiler may move too. From compute capability 9.0 on one instruction, ties to even;
/// before, as above.
__device__ __forceinline__ uint32_t round_to_nearest_tf32(float value) {
  uint32_t rounded = 0;
  LENSLET_FROM_SM_OR(90,
                     asm("cvt.rn.tf32.f32 %0, %1;"
                         : "=r"(rounded)
                         : "f"(value)),
                     rounded = round_to_tf32_in_any_order(value));
  return rounded;
}
/// Two values as fp16, rounded to nearest, the first in the lower half.
__device__ __forceinline__ uint32_t pack_halves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
/// Two values as bfloat16, rounded to nearest, the first in the lower half.
__device__ __forceinline__ uint32_t pack_bfloat16s(float low, float high) {
  uint32_t pair = 0;
  LENSLET_FROM_SM(80, asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low)));
  return pair;
}
/// max(x, 0) of two values as halves, the first in the lower one. NaN stays NaN.
__device__ __forceinline__ uint32_t pack_positive(float low, float high) {
  uint32_t pair = 0;
  LENSLET_FROM_SM(80, asm volatile("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low)));
  return pair;
}
/// An 8 x 8 matrix of halves, of which lane 4 g + t holds row g, columns 2t and 2t+1, transposed.
__device__ __forceinline__ uint32_t transpose_8x8(uint32_t row_pair) {
  uint32_t column_pair = 0;
  LENSLET_FROM_SM(80, asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                                   : "=r"(column_pair)
                                   : "r"(row_pair)));
  return column_pair;
}

}  // namespace lenslet
