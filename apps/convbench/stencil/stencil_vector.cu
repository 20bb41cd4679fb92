// Several outputs per thread: faster than the textbook's three kernels.
//
// A thread computes four neighbours (in 2D, of several rows), so an element loaded once serves several outputs from a
// register. Elements are loaded as float4 through L1, which also holds the halo of neighbouring threads without a
// barrier. The number of taps is a compile-time constant, so the loops unroll completely. Only threads at an edge
// evaluate the boundary.
#include <array>

#include "apps/convbench/stencil/constant_filter.cuh"
#include "apps/convbench/stencil/edges.cuh"
#include "framework/base/error.h"

namespace lenslet {
namespace {

__constant__ float constant_filter[kConstantTaps];

void upload(const float* filter, int count, Stream& stream) {
  upload_constant(constant_filter, filter, count, stream);
}

constexpr unsigned kLine = 256;
constexpr int kColumns = 4;

/// Elements from `column` - before on of one row, enough for four neighbouring outputs; `outside` marks a row of zeros.
/// `column` is a multiple of 4. kInner: all of them exist, and the row is aligned to 16 bytes.
template <Boundary kBoundary, int kTaps, bool kInner>
__device__ __forceinline__ void load_neighbours(const float* row, bool outside, int column, int width,
                                                float (&values)[kColumns + kTaps - 1]) {
  constexpr int kBefore = (kTaps - 1) / 2, kCount = kColumns + kTaps - 1;
  constexpr int kShift = (4 - kBefore % 4) % 4;  // offset of the first element from a multiple of 16 bytes
  if (kInner) {
    const float4* from = reinterpret_cast<const float4*>(row + column - kBefore - kShift);
#pragma unroll
    for (int v = 0; v < (kShift + kCount + 3) / 4; ++v) {
      const float4 four = outside ? make_float4(0, 0, 0, 0) : __ldg(from + v);
      const float parts[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * v + i - kShift;
        if (at >= 0 && at < kCount) values[at] = parts[i];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // Elements beyond a single reflection belong to no output.
      const int last = width - 1 + kTaps - 1 - kBefore;
      values[i] = outside ? 0.0f : edge_value<kBoundary>(row, min(column - kBefore + i, last), width);
    }
  }
}

/// Whether the float4 around the four outputs from `column` on are inside a row of whole float4.
template <int kTaps>
__device__ __forceinline__ bool is_inner(int column, int width) {
  constexpr int kBefore = (kTaps - 1) / 2, kShift = (4 - kBefore % 4) % 4;
  constexpr int kRead = (kShift + kColumns + kTaps - 1 + 3) / 4 * 4;
  const int first = column - kBefore - kShift;
  return first >= 0 && first + kRead <= width;
}

__device__ __forceinline__ void store_neighbours(float* y, const float (&sums)[kColumns], int column,
                                                 int width) {
  if (width % 4 == 0) {
    *reinterpret_cast<float4*>(y) = make_float4(sums[0], sums[1], sums[2], sums[3]);
    return;
  }
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    if (column + j < width) y[j] = sums[j];
  }
}

// computes    y [width] of x [width] and the filter [kTaps] in constant memory
// work split  block = 256 threads = 1,024 outputs, thread = 4 neighbouring outputs
// memory      no shared memory: float4 through L1; registers hold the neighbours and 4 sums
// requires    kTaps up to 15 (stencil_vector_kernel() checks); with Boundary::kReflect a filter that reaches less far
//             than the signal is long (Stencil::supports checks)
// measured    H100, hot, study e: 16,777,216 elements, 7 taps, zeros outside: 46.98 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <Boundary kBoundary, int kTaps>
__global__ void __launch_bounds__(kLine)
    stencil_vector_1d_kernel(const StencilShape shape,
                             const float* __restrict__ x,  // [width]
                             const float* /*filter*/,      // unused: the filter is in constant memory
                             float* __restrict__ y) {      // [width]
  const int first = static_cast<int>(blockIdx.x * kLine + threadIdx.x) * kColumns;
  if (first >= shape.width) return;
  float in[kColumns + kTaps - 1], sums[kColumns] = {};
  if (is_inner<kTaps>(first, shape.width)) {
    load_neighbours<kBoundary, kTaps, true>(x, false, first, shape.width, in);
  } else {
    load_neighbours<kBoundary, kTaps, false>(x, false, first, shape.width, in);
  }
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[j] = fmaf(constant_filter[t], in[j + t], sums[j]);
  }
  if (first + kColumns <= shape.width) {
    *reinterpret_cast<float4*>(y + first) = make_float4(sums[0], sums[1], sums[2], sums[3]);
  } else {
    store_neighbours(y + first, sums, first, shape.width);
  }
}

/// The sums of kRows x 4 outputs. One branch for all rows, so that their loads overlap.
template <Boundary kBoundary, int kTaps, int kRows, bool kInner>
__device__ __forceinline__ void sum_patch(const StencilShape& shape, const float* x, int row, int column,
                                          float (&sums)[kRows][kColumns]) {
  constexpr int kBefore = (kTaps - 1) / 2;
  // Rows beyond a single reflection belong to no output.
  const int last = shape.height - 1 + kTaps - 1 - kBefore;
#pragma unroll
  for (int i = 0; i < kRows + kTaps - 1; ++i) {
    const int from = edge_index<kBoundary>(min(row - kBefore + i, last), shape.height);
    const bool outside = kBoundary == Boundary::kZero && from < 0;
    float in[kColumns + kTaps - 1];
    load_neighbours<kBoundary, kTaps, kInner>(x + static_cast<int64_t>(from) * shape.width, outside, column,
                                              shape.width, in);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int s = i - k;
      if (s < 0 || s >= kTaps) continue;
#pragma unroll
      for (int t = 0; t < kTaps; ++t) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          sums[k][j] = fmaf(constant_filter[s * kTaps + t], in[j + t], sums[k][j]);
        }
      }
    }
  }
}

// computes    y [height, width] of x [height, width] and the filter [kTaps, kTaps] in constant memory
// work split  block = 32 x 8 threads, thread = kRows x 4 neighbouring outputs
// memory      no shared memory: float4 through L1; registers hold rows of neighbours and 4*kRows sums
// requires    odd kTaps up to 7 (stencil_vector_kernel() checks); with Boundary::kReflect a filter that reaches less
//             far than the shorter side is long (Stencil::supports checks)
// measured    H100, hot, study e: 4096 x 4096 elements, 5 x 5 taps, zeros outside: 51.81 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <Boundary kBoundary, int kTaps, int kRows>
__global__ void __launch_bounds__(kLine)
    stencil_vector_2d_kernel(const StencilShape shape,
                             const float* __restrict__ x,  // [height, width]
                             const float* /*filter*/,      // unused: the filter is in constant memory
                             float* __restrict__ y) {      // [height, width]
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kColumns;
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) * kRows;
  if (column >= shape.width || row >= shape.height) return;
  float sums[kRows][kColumns] = {};
  if (shape.width % 4 == 0 && is_inner<kTaps>(column, shape.width)) {
    sum_patch<kBoundary, kTaps, kRows, true>(shape, x, row, column, sums);
  } else {
    sum_patch<kBoundary, kTaps, kRows, false>(shape, x, row, column, sums);
  }
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    if (row + k >= shape.height) continue;
    store_neighbours(y + static_cast<int64_t>(row + k) * shape.width + column, sums[k], column, shape.width);
  }
}

template <int kTaps>
StencilKernel::Function line_of(Boundary boundary) {
  return by_boundary(boundary, &stencil_vector_1d_kernel<Boundary::kZero, kTaps>,
                     &stencil_vector_1d_kernel<Boundary::kClamp, kTaps>,
                     &stencil_vector_1d_kernel<Boundary::kReflect, kTaps>);
}

constexpr int kRows = 4;
template <int kTaps>
StencilKernel::Function plane_of(Boundary boundary) {
  return by_boundary(boundary, &stencil_vector_2d_kernel<Boundary::kZero, kTaps, kRows>,
                     &stencil_vector_2d_kernel<Boundary::kClamp, kTaps, kRows>,
                     &stencil_vector_2d_kernel<Boundary::kReflect, kTaps, kRows>);
}

}  // namespace

StencilKernel stencil_vector_kernel(const Stencil& stencil, Boundary boundary) {
  constexpr std::array<StencilKernel::Function (*)(Boundary), 15> kLines = {
      &line_of<1>,  &line_of<2>,  &line_of<3>,  &line_of<4>,  &line_of<5>,
      &line_of<6>,  &line_of<7>,  &line_of<8>,  &line_of<9>,  &line_of<10>,
      &line_of<11>, &line_of<12>, &line_of<13>, &line_of<14>, &line_of<15>};
  constexpr std::array<StencilKernel::Function (*)(Boundary), 4> kPlanes = {&plane_of<1>, &plane_of<3>,
                                                                            &plane_of<5>, &plane_of<7>};
  constexpr unsigned kTileX = 32, kTileY = kLine / kTileX;
  StencilKernel kernel;
  kernel.upload = &upload;
  const auto taps = static_cast<size_t>(stencil.taps);
  if (stencil.dimensions == 1) {
    kernel.name = "stencil_vector_1d_kernel";
    if (taps > kLines.size()) {
      kernel.refusal =
          concat("vector has the taps in its code, up to ", kLines.size(), ", found ", taps, ": use tiled");
      return kernel;
    }
    kernel.function = kLines[taps - 1](boundary);
    kernel.threads_x = kLine;
    kernel.blocks_x = grid_blocks(stencil.width, kLine * kColumns);
  } else {
    kernel.name = "stencil_vector_2d_kernel";
    if (taps / 2 >= kPlanes.size()) {
      kernel.refusal = concat("vector has the taps in its code, up to ", 2 * kPlanes.size() - 1, " x ",
                              2 * kPlanes.size() - 1, ", found ", taps, " x ", taps, ": use tiled");
      return kernel;
    }
    kernel.function = kPlanes[taps / 2](boundary);
    kernel.threads_x = kTileX;
    kernel.threads_y = kTileY;
    kernel.blocks_x = grid_blocks(stencil.width, kTileX * kColumns);
    kernel.blocks_y = grid_blocks(stencil.height, kTileY * kRows);
  }
  return kernel;
}

}  // namespace lenslet
