// Tiles of x with their halo in shared memory: each element is read from global memory once per block, where edges are
// handled, and from shared memory once per tap.
#include "apps/convbench/stencil/constant_filter.cuh"
#include "apps/convbench/stencil/edges.cuh"

namespace lenslet {
namespace {

__constant__ float constant_filter[kConstantTaps];

void upload(const float* filter, int count, Stream& stream) {
  upload_constant(constant_filter, filter, count, stream);
}

constexpr unsigned kLine = 256, kTile = 32;

// computes    y [width] of x [width] and the filter [taps] in constant memory
// work split  block = 256 outputs, thread = one of them
// memory      the 256 + taps - 1 elements for a block in shared memory; a warp reads neighbours: no bank conflicts
// requires    256 + taps - 1 floats of shared memory (kMaxTaps1d); with Boundary::kReflect a filter that reaches less
//             far than the signal is long (Stencil::supports checks)
// measured    H100, hot, study e: 16,777,216 elements, 7 taps, zeros outside: 103.2 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <Boundary kBoundary>
__global__ void __launch_bounds__(kLine)
    stencil_tiled_1d_kernel(const StencilShape shape,
                            const float* __restrict__ x,  // [width]
                            const float* /*filter*/,      // unused: the filter is in constant memory
                            float* __restrict__ y) {      // [width]
  extern __shared__ float tile[];
  const int thread = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x * kLine);
  // Beyond the last output and its neighbours no element is needed.
  const int end = min(static_cast<int>(kLine), shape.width - first) + shape.taps - 1;
  for (int i = thread; i < end; i += static_cast<int>(kLine)) {
    tile[i] = edge_value<kBoundary>(x, first + i - shape.before, shape.width);
  }
  __syncthreads();
  if (first + thread >= shape.width) return;
  float sum = 0;
  for (int t = 0; t < shape.taps; ++t) sum = fmaf(constant_filter[t], tile[thread + t], sum);
  y[first + thread] = sum;
}

// computes    y [height, width] of x [height, width] and the filter [taps, taps] in constant memory
// work split  block = 32 x 32 outputs, thread = one of them
// memory      the (32 + taps - 1)^2 elements for a block in shared memory; a warp reads neighbours of one row: no
//             bank conflicts
// requires    (32 + taps - 1)^2 floats of shared memory (kMaxTaps2d); with Boundary::kReflect a filter that reaches
//             less far than the shorter side is long (Stencil::supports checks)
// measured    H100, hot, study e: 4096 x 4096 elements, 5 x 5 taps, zeros outside: 294.7 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <Boundary kBoundary>
__global__ void __launch_bounds__(kTile* kTile)
    stencil_tiled_2d_kernel(const StencilShape shape,
                            const float* __restrict__ x,  // [height, width]
                            const float* /*filter*/,      // unused: the filter is in constant memory
                            float* __restrict__ y) {      // [height, width]
  extern __shared__ float tile[];
  const int thread_x = static_cast<int>(threadIdx.x), thread_y = static_cast<int>(threadIdx.y);
  const int first_row = static_cast<int>(blockIdx.y * kTile),
            first_column = static_cast<int>(blockIdx.x * kTile);
  const int pitch = static_cast<int>(kTile) + shape.taps - 1;
  const int end_row = min(static_cast<int>(kTile), shape.height - first_row) + shape.taps - 1;
  const int end_column = min(static_cast<int>(kTile), shape.width - first_column) + shape.taps - 1;
  for (int i = thread_y; i < end_row; i += static_cast<int>(kTile)) {
    for (int j = thread_x; j < end_column; j += static_cast<int>(kTile)) {
      tile[i * pitch + j] = edge_value<kBoundary>(x, first_row + i - shape.before,
                                                  first_column + j - shape.before, shape.height, shape.width);
    }
  }
  __syncthreads();
  const int row = first_row + thread_y, column = first_column + thread_x;
  if (row >= shape.height || column >= shape.width) return;
  float sum = 0;
  for (int s = 0; s < shape.taps; ++s) {
    for (int t = 0; t < shape.taps; ++t) {
      sum = fmaf(constant_filter[s * shape.taps + t], tile[(thread_y + s) * pitch + thread_x + t], sum);
    }
  }
  y[static_cast<int64_t>(row) * shape.width + column] = sum;
}

}  // namespace

StencilKernel stencil_tiled_kernel(const Stencil& stencil, Boundary boundary) {
  StencilKernel kernel;
  kernel.upload = &upload;
  const auto halo = static_cast<size_t>(stencil.taps - 1);
  if (stencil.dimensions == 1) {
    kernel.name = "stencil_tiled_1d_kernel";
    kernel.function =
        by_boundary(boundary, &stencil_tiled_1d_kernel<Boundary::kZero>,
                    &stencil_tiled_1d_kernel<Boundary::kClamp>, &stencil_tiled_1d_kernel<Boundary::kReflect>);
    kernel.threads_x = kLine;
    kernel.blocks_x = grid_blocks(stencil.width, kLine);
    kernel.shared_bytes = (kLine + halo) * sizeof(float);
  } else {
    kernel.name = "stencil_tiled_2d_kernel";
    kernel.function =
        by_boundary(boundary, &stencil_tiled_2d_kernel<Boundary::kZero>,
                    &stencil_tiled_2d_kernel<Boundary::kClamp>, &stencil_tiled_2d_kernel<Boundary::kReflect>);
    kernel.threads_x = kernel.threads_y = kTile;
    kernel.blocks_x = grid_blocks(stencil.width, kTile);
    kernel.blocks_y = grid_blocks(stencil.height, kTile);
    kernel.shared_bytes = (kTile + halo) * (kTile + halo) * sizeof(float);
  }
  return kernel;
}

}  // namespace lenslet
