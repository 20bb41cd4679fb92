// One thread a row: what a processor would do, and the slowest way to fill a GPU.
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [n, n] = A [n, n] * B [n, n]
// work split  thread = row of C; n threads in all, a few a multiprocessor
// memory      no shared memory: the lanes of a warp read A and write C a whole row apart, so that each access is a
//             transaction for every lane; all read one float of B at a time, down its columns
// requires    blocks of any length (checked by matrix_support)
// measured    docs/results, study a, table gemm_partition
__global__ void row_kernel(int size, const float* __restrict__ a, const float* __restrict__ b,
                           float* __restrict__ c) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= size) return;
  const float* left = a + static_cast<size_t>(row) * size;
  for (int column = 0; column < size; ++column) {
    const float* right = b + column;
    float sum = 0;
    for (int k = 0; k < size; ++k, right += size) sum = fmaf(left[k], *right, sum);
    c[static_cast<size_t>(row) * size + column] = sum;
  }
}

}  // namespace

MatrixKernel matrix_row_kernel(int block) { return {"matrix_row_kernel", &row_kernel, false, block, block}; }

}  // namespace lenslet
