// A register tile per thread: 4 x 4 elements, outer products of four floats of A with four of B.
//
// Eight floats read feed sixteen multiply-adds; one thread per element reads two floats for each (V. Volkov, J. Demmel,
// "Benchmarking GPUs to tune dense linear algebra", SC 2008). The rows are filters, so there are few: B is read once
// for all of them, and shared memory would save nothing. The study's "register" is a shared-memory kernel with its sum
// in a local variable, which compilers do anyway; its times are those of "shared".
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

constexpr int kPatch = 4;   // elements along an edge of a thread's tile
constexpr int kUnroll = 4;  // rows of B that a thread loads together

/// Four neighbours of a row of `columns` floats, from `column` on, with zeros beyond the end. `vector`: rows consist of
/// whole float4.
__device__ __forceinline__ float4 load_four(const float* row, int column, int columns, bool vector) {
  if (vector) return __ldg(reinterpret_cast<const float4*>(row + column));
  float four[kPatch];
#pragma unroll
  for (int j = 0; j < kPatch; ++j) four[j] = column + j < columns ? __ldg(row + column + j) : 0.0f;
  return make_float4(four[0], four[1], four[2], four[3]);
}

// computes    C [rows, columns] = A [rows, inner] * B [inner, columns]
// work split  block = 4 rows x 4 * kTile * kTile columns, thread = 4 x 4 neighbours
// memory      no shared memory: B as float4, each once for four rows; of A all threads read the same four floats, which
//             stay in L1. 16 sums in registers
// requires    kTile x kTile threads (checked by study_support)
// measured    H100, hot, study a: 3 x 16,777,216 x 27, tile 8: 675.5 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    matrix_register_kernel(MatrixShape shape,
                           const float* __restrict__ a,  // [rows, inner]
                           const float* __restrict__ b,  // [inner, columns]
                           float* __restrict__ c) {      // [rows, columns]
  constexpr int kThreads = kTile * kTile;
  const int thread = static_cast<int>(threadIdx.y) * kTile + static_cast<int>(threadIdx.x);
  const int64_t first_column = (static_cast<int64_t>(blockIdx.x) * kThreads + thread) * kPatch;
  const int row = static_cast<int>(blockIdx.y) * kPatch;
  if (first_column >= shape.columns) return;
  const int column = static_cast<int>(first_column);
  const bool vector = shape.columns % kPatch == 0;

  float sums[kPatch][kPatch] = {};
#pragma unroll kUnroll
  for (int k = 0; k < shape.inner; ++k) {
    const float4 four = load_four(b + static_cast<int64_t>(k) * shape.columns, column, shape.columns, vector);
    const float right[kPatch] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < kPatch; ++i) {
      // A row beyond the last repeats the last one and is not stored.
      const int from = min(row + i, shape.rows - 1);
      const float left = __ldg(a + static_cast<int64_t>(from) * shape.inner + k);
#pragma unroll
      for (int j = 0; j < kPatch; ++j) sums[i][j] = fmaf(left, right[j], sums[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < kPatch; ++i) {
    if (row + i >= shape.rows) continue;
    float* to = c + static_cast<int64_t>(row + i) * shape.columns + column;
    if (vector) {
      *reinterpret_cast<float4*>(to) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
      continue;
    }
#pragma unroll
    for (int j = 0; j < kPatch; ++j) {
      if (column + j < shape.columns) to[j] = sums[i][j];
    }
  }
}

}  // namespace

MatrixKernel matrix_register(int tile) {
  MatrixKernel kernel;
  kernel.name = "matrix_register_kernel";
  kernel.threads_x = kernel.threads_y = tile;
  kernel.rows = kPatch;
  kernel.columns = kPatch * tile * tile;
  if (tile == 8) kernel.function = &matrix_register_kernel<8>;
  if (tile == 16) kernel.function = &matrix_register_kernel<16>;
  if (tile == 32) kernel.function = &matrix_register_kernel<32>;
  return kernel;
}

}  // namespace lenslet
