// One thread a column: as few threads as one a row, but neighbours read neighbours.
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [n, n] = A [n, n] * B [n, n]
// work split  thread = column of C; n threads in all, a few a multiprocessor
// memory      no shared memory: a warp reads neighbours of B, one float of A for all lanes, and writes neighbours of C
// requires    blocks of any length (checked by matrix_support)
// measured    docs/results, study a, table gemm_partition
__global__ void column_kernel(int size, const float* __restrict__ a, const float* __restrict__ b,
                              float* __restrict__ c) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= size) return;
  for (int row = 0; row < size; ++row) {
    const float* left = a + static_cast<size_t>(row) * size;
    const float* right = b + column;
    float sum = 0;
    for (int k = 0; k < size; ++k, right += size) sum = fmaf(left[k], *right, sum);
    c[static_cast<size_t>(row) * size + column] = sum;
  }
}

}  // namespace

MatrixKernel matrix_column_kernel(int block) {
  return {"matrix_column_kernel", &column_kernel, false, block, block};
}

}  // namespace lenslet
