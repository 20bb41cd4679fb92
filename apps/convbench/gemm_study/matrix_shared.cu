// One thread per element, operands staged in shared memory: each is read from global memory once per tile and used
// `tile` times (NVIDIA, CUDA C++ Programming Guide, "Shared Memory").
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [rows, columns] = A [rows, inner] * B [inner, columns]
// work split  block = kTile x kTile elements, thread = one of them
// memory      two kTile x kTile tiles in shared memory; of A a warp reads few addresses, of B neighbours: no bank
//             conflicts. One sum in a register
// requires    kTile x kTile threads (checked by study_support)
// measured    H100, hot, study a: 3 x 16,777,216 x 27, tile 8: 1,597 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    matrix_shared_kernel(MatrixShape shape,
                         const float* __restrict__ a,  // [rows, inner]
                         const float* __restrict__ b,  // [inner, columns]
                         float* __restrict__ c) {      // [rows, columns]
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kTile + x, row = static_cast<int>(blockIdx.y) * kTile + y;
  const bool in_rows = row < shape.rows, in_columns = column < shape.columns;
  float sum = 0;
  for (int first = 0; first < shape.inner; first += kTile) {
    const int left_k = first + x, right_k = first + y;
    left[y][x] = in_rows && left_k < shape.inner ? a[static_cast<int64_t>(row) * shape.inner + left_k] : 0.0f;
    right[y][x] = in_columns && right_k < shape.inner
                      ? b[static_cast<int64_t>(right_k) * shape.columns + column]
                      : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum = fmaf(left[y][k], right[k][x], sum);
    __syncthreads();
  }
  if (in_rows && in_columns) c[static_cast<int64_t>(row) * shape.columns + column] = sum;
}

}  // namespace

MatrixKernel matrix_shared(int tile) {
  MatrixKernel kernel;
  kernel.name = "matrix_shared_kernel";
  kernel.threads_x = kernel.threads_y = kernel.rows = kernel.columns = tile;
  if (tile == 8) kernel.function = &matrix_shared_kernel<8>;
  if (tile == 16) kernel.function = &matrix_shared_kernel<16>;
  if (tile == 32) kernel.function = &matrix_shared_kernel<32>;
  return kernel;
}

}  // namespace lenslet
