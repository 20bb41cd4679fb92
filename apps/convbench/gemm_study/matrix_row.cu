// One thread per row, as a CPU would divide the work. With as few rows as filters it is the slowest partition on a GPU.
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [rows, columns] = A [rows, inner] * B [inner, columns]
// work split  thread = row of C, so that there are only as many threads as rows
// memory      no shared memory: the lanes of a warp read A and write C a whole row apart; all read one float of B at a
//             time, down its columns. With so few threads time is latency, so that nine loads wait at once
// requires    a launch that the GPU allows (checked by study_support)
// measured    H100, hot, study a: 3 x 65,536 x 27, block 16: 57,995 us
//             (docs/results/2026-11-27-h100/reproduce.json)
__global__ void matrix_row_kernel(MatrixShape shape,
                                  const float* __restrict__ a,  // [rows, inner]
                                  const float* __restrict__ b,  // [inner, columns]
                                  float* __restrict__ c) {      // [rows, columns]
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= shape.rows) return;
  const float* left = a + static_cast<int64_t>(row) * shape.inner;
  for (int column = 0; column < shape.columns; ++column) {
    const float* right = b + column;
    float sum = 0;
#pragma unroll 9
    for (int k = 0; k < shape.inner; ++k, right += shape.columns) sum = fmaf(left[k], *right, sum);
    c[static_cast<int64_t>(row) * shape.columns + column] = sum;
  }
}

}  // namespace

MatrixKernel matrix_row(int block) {
  MatrixKernel kernel;
  kernel.name = "matrix_row_kernel";
  kernel.function = &matrix_row_kernel;
  kernel.threads_y = kernel.rows = block;
  kernel.columns = 0;
  return kernel;
}

}  // namespace lenslet
