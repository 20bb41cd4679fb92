// One thread per column: neighbouring threads read neighbouring elements, and there is a thread for each position.
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [rows, columns] = A [rows, inner] * B [inner, columns]
// work split  thread = column of C, row after row
// memory      no shared memory: a warp reads neighbours of B, one float of A for all lanes, and writes neighbours of C;
//             B is read again for each row, unless a cache still has it
// requires    a launch that the GPU allows (checked by study_support)
// measured    H100, hot, study a: 3 x 16,777,216 x 27, block 64: 965.5 us
//             (docs/results/2026-11-27-h100/reproduce.json)
__global__ void matrix_column_kernel(MatrixShape shape,
                                     const float* __restrict__ a,  // [rows, inner]
                                     const float* __restrict__ b,  // [inner, columns]
                                     float* __restrict__ c) {      // [rows, columns]
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= shape.columns) return;
  for (int row = 0; row < shape.rows; ++row) {
    const float* left = a + static_cast<int64_t>(row) * shape.inner;
    const float* right = b + column;
    float sum = 0;
    for (int k = 0; k < shape.inner; ++k, right += shape.columns) sum = fmaf(left[k], *right, sum);
    c[static_cast<int64_t>(row) * shape.columns + column] = sum;
  }
}

}  // namespace

MatrixKernel matrix_column(int block) {
  MatrixKernel kernel;
  kernel.name = "matrix_column_kernel";
  kernel.function = &matrix_column_kernel;
  kernel.threads_x = kernel.columns = block;
  kernel.rows = 0;
  return kernel;
}

}  // namespace lenslet
