// The filter in global memory: the convolution by its definition.
//
// All threads read the same tap at the same time, so one cache access serves a warp; but each tap needs its own load,
// in addition to that of x.
#include "apps/convbench/stencil/edges.cuh"

namespace lenslet {
namespace {

constexpr unsigned kLine = 256, kTileX = 32, kTileY = 8;

// computes    y [width] of x [width] and filter [taps]
// work split  block = 256 outputs, thread = one of them
// memory      no shared memory: x and filter through L1
// requires    with Boundary::kReflect a filter that reaches less far than the signal is long (Stencil::supports checks)
// measured    H100, hot, study e: 16,777,216 elements, 7 taps, zeros outside: 90.11 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <Boundary kBoundary>
__global__ void __launch_bounds__(kLine) stencil_global_1d_kernel(const StencilShape shape,
                                                                  const float* __restrict__ x,  // [width]
                                                                  const float* __restrict__ filter,  // [taps]
                                                                  float* __restrict__ y) {  // [width]
  const int i = static_cast<int>(blockIdx.x * kLine + threadIdx.x);
  if (i >= shape.width) return;
  float sum = 0;
  for (int t = 0; t < shape.taps; ++t) {
    sum = fmaf(__ldg(filter + t), edge_value<kBoundary>(x, i + t - shape.before, shape.width), sum);
  }
  y[i] = sum;
}

// computes    y [height, width] of x [height, width] and filter [taps, taps]
// work split  block = 32 columns x 8 rows of outputs, thread = one of them
// memory      no shared memory: x and filter through L1
// requires    with Boundary::kReflect a filter that reaches less far than the shorter side is long (Stencil::supports
//             checks)
// measured    H100, hot, study e: 4096 x 4096 elements, 5 x 5 taps, zeros outside: 369.0 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <Boundary kBoundary>
__global__ void __launch_bounds__(kTileX* kTileY)
    stencil_global_2d_kernel(const StencilShape shape,
                             const float* __restrict__ x,       // [height, width]
                             const float* __restrict__ filter,  // [taps, taps]
                             float* __restrict__ y) {           // [height, width]
  const int column = static_cast<int>(blockIdx.x * kTileX + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * kTileY + threadIdx.y);
  if (row >= shape.height || column >= shape.width) return;
  float sum = 0;
  for (int s = 0; s < shape.taps; ++s) {
    for (int t = 0; t < shape.taps; ++t) {
      const float value = edge_value<kBoundary>(x, row + s - shape.before, column + t - shape.before,
                                                shape.height, shape.width);
      sum = fmaf(__ldg(filter + s * shape.taps + t), value, sum);
    }
  }
  y[static_cast<int64_t>(row) * shape.width + column] = sum;
}

}  // namespace

StencilKernel stencil_global_kernel(const Stencil& stencil, Boundary boundary) {
  StencilKernel kernel;
  if (stencil.dimensions == 1) {
    kernel.name = "stencil_global_1d_kernel";
    kernel.function = by_boundary(boundary, &stencil_global_1d_kernel<Boundary::kZero>,
                                  &stencil_global_1d_kernel<Boundary::kClamp>,
                                  &stencil_global_1d_kernel<Boundary::kReflect>);
    kernel.threads_x = kLine;
    kernel.blocks_x = grid_blocks(stencil.width, kLine);
  } else {
    kernel.name = "stencil_global_2d_kernel";
    kernel.function = by_boundary(boundary, &stencil_global_2d_kernel<Boundary::kZero>,
                                  &stencil_global_2d_kernel<Boundary::kClamp>,
                                  &stencil_global_2d_kernel<Boundary::kReflect>);
    kernel.threads_x = kTileX;
    kernel.threads_y = kTileY;
    kernel.blocks_x = grid_blocks(stencil.width, kTileX);
    kernel.blocks_y = grid_blocks(stencil.height, kTileY);
  }
  return kernel;
}

}  // namespace lenslet
