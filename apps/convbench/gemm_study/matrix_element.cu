// One thread per element, operands from global memory.
//
// The study has this kernel twice: as memory mode "global" and as partition "element".
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [rows, columns] = A [rows, inner] * B [inner, columns]
// work split  thread (x, y) of the grid = element (y, x)
// memory      no shared memory: a warp reads a few rows of A, one float at a time, and neighbours of B; caches serve
//             the reuse
// requires    a launch that the GPU allows (checked by study_support)
// measured    H100, hot, study a: 3 x 16,777,216 x 27, tile 16: 1,854 us
//             (docs/results/2026-11-27-h100/reproduce.json)
__global__ void matrix_element_kernel(MatrixShape shape,
                                      const float* __restrict__ a,  // [rows, inner]
                                      const float* __restrict__ b,  // [inner, columns]
                                      float* __restrict__ c) {      // [rows, columns]
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= shape.rows || column >= shape.columns) return;
  const float* left = a + static_cast<int64_t>(row) * shape.inner;
  const float* right = b + column;
  float sum = 0;
  for (int k = 0; k < shape.inner; ++k, right += shape.columns) sum = fmaf(left[k], *right, sum);
  c[static_cast<int64_t>(row) * shape.columns + column] = sum;
}

}  // namespace

MatrixKernel matrix_element(int tile) {
  MatrixKernel kernel;
  kernel.name = "matrix_element_kernel";
  kernel.function = &matrix_element_kernel;
  kernel.threads_x = kernel.threads_y = kernel.rows = kernel.columns = tile;
  return kernel;
}

}  // namespace lenslet
