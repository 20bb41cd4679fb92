// A register tile a thread: 4 x 4 elements, outer products of operands that come from shared memory.
//
// Two float4 of shared memory feed sixteen multiply-adds, where the shared kernel needs two floats for one (V. Volkov,
// J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008). The study calls "register" a shared kernel
// that keeps its one sum in a local variable; compilers do that anyway, and its times are those of "shared".
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

constexpr int kPatch = 4;  // elements along an edge of a thread's patch
/// Columns of A and rows of B in shared memory at a time: with 32 a block waits at fewer barriers than with 8 or 16.
constexpr int kDepth = 32;

// computes    C [n, n] = A [n, n] * B [n, n]
// work split  block = kEdge x kEdge elements, kEdge = 4 * kTile; thread = 4 x 4 neighbours
// memory      kDepth columns of A, transposed, and kDepth rows of B in shared memory, both read as float4; a row pad
//             spreads the transposing writes of A over eight banks. 16 sums in registers
// requires    kTile x kTile threads (checked by matrix_support)
// measured    docs/results, study a, table gemm_memory
template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    register_kernel(int size, const float* __restrict__ a, const float* __restrict__ b,
                    float* __restrict__ c) {
  constexpr int kEdge = kPatch * kTile, kThreads = kTile * kTile;
  __shared__ alignas(16) float left[kDepth][kEdge + kPatch];
  __shared__ alignas(16) float right[kDepth][kEdge];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y), thread = y * kTile + x;
  const int first_row = static_cast<int>(blockIdx.y) * kEdge,
            first_column = static_cast<int>(blockIdx.x) * kEdge;
  float sums[kPatch][kPatch] = {};
  for (int first = 0; first < size; first += kDepth) {
#pragma unroll
    for (int i = thread; i < kEdge * kDepth; i += kThreads) {
      const int row = first_row + i / kDepth, k = first + i % kDepth;
      left[i % kDepth][i / kDepth] = row < size && k < size ? a[static_cast<size_t>(row) * size + k] : 0.0f;
    }
#pragma unroll
    for (int i = thread; i < kEdge * kDepth; i += kThreads) {
      const int k = first + i / kEdge, column = first_column + i % kEdge;
      right[i / kEdge][i % kEdge] =
          k < size && column < size ? b[static_cast<size_t>(k) * size + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const float4 lefts = *reinterpret_cast<const float4*>(&left[k][y * kPatch]);
      const float4 rights = *reinterpret_cast<const float4*>(&right[k][x * kPatch]);
      const float l[kPatch] = {lefts.x, lefts.y, lefts.z, lefts.w};
      const float r[kPatch] = {rights.x, rights.y, rights.z, rights.w};
#pragma unroll
      for (int i = 0; i < kPatch; ++i) {
#pragma unroll
        for (int j = 0; j < kPatch; ++j) sums[i][j] = fmaf(l[i], r[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPatch; ++i) {
#pragma unroll
    for (int j = 0; j < kPatch; ++j) {
      const int row = first_row + y * kPatch + i, column = first_column + x * kPatch + j;
      if (row < size && column < size) c[static_cast<size_t>(row) * size + column] = sums[i][j];
    }
  }
}

}  // namespace

MatrixKernel matrix_register_kernel(int tile) {
  MatrixKernel kernel{"matrix_register_kernel", nullptr, true, tile, kPatch * tile};
  if (tile == 8) kernel.function = &register_kernel<8>;
  if (tile == 16) kernel.function = &register_kernel<16>;
  if (tile == 32) kernel.function = &register_kernel<32>;
  return kernel;
}

}  // namespace lenslet
