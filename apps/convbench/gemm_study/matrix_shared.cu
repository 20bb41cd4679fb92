// One thread an element, operands staged in shared memory: each is read from global memory once a tile and used `tile`
// times (NVIDIA, CUDA C++ Programming Guide, "Shared Memory").
#include "apps/convbench/gemm_study/matrix_kernels.h"

namespace lenslet {
namespace {

// computes    C [n, n] = A [n, n] * B [n, n]
// work split  block = kTile x kTile elements, thread = one of them
// memory      two kTile x kTile tiles in shared memory; of A a warp reads few addresses, of B neighbours: no bank
//             conflicts. One sum in a register
// requires    kTile x kTile threads (checked by matrix_support)
// measured    docs/results, study a, table gemm_memory
template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    shared_kernel(int size, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kTile + x, row = static_cast<int>(blockIdx.y) * kTile + y;
  float sum = 0;
  for (int first = 0; first < size; first += kTile) {
    const bool has_left = row < size && first + x < size, has_right = first + y < size && column < size;
    left[y][x] = has_left ? a[static_cast<size_t>(row) * size + first + x] : 0.0f;
    right[y][x] = has_right ? b[static_cast<size_t>(first + y) * size + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum = fmaf(left[y][k], right[k][x], sum);
    __syncthreads();
  }
  if (row < size && column < size) c[static_cast<size_t>(row) * size + column] = sum;
}

}  // namespace

MatrixKernel matrix_shared_kernel(int tile) {
  MatrixKernel kernel{"matrix_shared_kernel", nullptr, true, tile, tile};
  if (tile == 8) kernel.function = &shared_kernel<8>;
  if (tile == 16) kernel.function = &shared_kernel<16>;
  if (tile == 32) kernel.function = &shared_kernel<32>;
  return kernel;
}

}  // namespace lenslet
