// Direct convolution, rung 04: the window's size is known at compile time, and a row of inputs is kept in registers.
//
// With R, S and the stride compiled in, the loops over a window unroll and addresses become constants. The inputs that
// 4 neighbouring windows need of a row, 6 for 3x3 at stride 1, are read once for all S columns of the filter: 6 reads
// instead of 12.
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kFilters = 4;

// computes    y [N, K, P, Q] of x [N, C, H, W], kWindow x kWindow filters, any padding, bias, optional ReLU
// work split  block = up to 8 rows x 128 columns of 4 filters a group; thread = 4 neighbouring columns of 4 filters
// memory      shared: input tile [chunk, tile_h, pitch]; filters and biases in constant memory; registers: 16 sums and
//             a row of inputs
// requires    square window and stride as compiled, no dilation, groups = 1, filters that fit Bank (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <typename Bank, int kWindow, int kStride>
__global__ void __launch_bounds__(256)
    conv_direct_window_in_registers_kernel(const __grid_constant__ Bank bank, const RungShape shape,
                                           const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kReads = (kColumns - 1) * kStride + kWindow;
  const RungBlock block(shape);
  const int k0 = block.k + threadIdx.z * kFilters, taps = shape.c * kWindow * kWindow;
  int weight[kFilters];  // of the current row; filters past the last one repeat it and are not stored
  float sums[kFilters][kColumns];
#pragma unroll
  for (int k = 0; k < kFilters; ++k) {
    const int filter = min(k0 + k, shape.k - 1);
    weight[k] = filter * taps;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[k][j] = bank.values[shape.k * taps + filter];
  }
  for (int c0 = 0; c0 < shape.c; c0 += shape.chunk) {
    const float* tile = stage_rung_tile(shape, x, block, c0);
    const float* plane = tile + threadIdx.y * kStride * shape.pitch + threadIdx.x * kColumns * kStride;
    const int channels = min(shape.chunk, shape.c - c0);
    for (int c = 0; c < channels; ++c, plane += shape.tile_h * shape.pitch) {
#pragma unroll
      for (int r = 0; r < kWindow; ++r) {
        float in[kReads];
#pragma unroll
        for (int j = 0; j < kReads; ++j) in[j] = plane[r * shape.pitch + j];
#pragma unroll
        for (int s = 0; s < kWindow; ++s) {
#pragma unroll
          for (int k = 0; k < kFilters; ++k) {
            const float value = bank.values[weight[k] + r * kWindow + s];
#pragma unroll
            for (int j = 0; j < kColumns; ++j) sums[k][j] = fmaf(value, in[j * kStride + s], sums[k][j]);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < kFilters; ++k) weight[k] += kWindow * kWindow;
    }
  }
#pragma unroll
  for (int k = 0; k < kFilters; ++k) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      rung_store(shape, y, block.n, k0 + k, block.p + threadIdx.y, block.q + threadIdx.x * kColumns + j,
                 sums[k][j]);
    }
  }
}

template <int kWindow, int kStride>
struct Kernels {
  static RungKernels get() {
    RungKernels kernels;
    kernels.small = &conv_direct_window_in_registers_kernel<SmallBank, kWindow, kStride>;
    kernels.large = &conv_direct_window_in_registers_kernel<LargeBank, kWindow, kStride>;
    return kernels;
  }
};

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_04_window_in_registers() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.04_window_in_registers";
    design.kernel_name = "conv_direct_window_in_registers_kernel";
    design.supports = &supports_compiled_windows;
    design.kernels = &by_window<Kernels>;
    design.columns = kColumns;
    design.filters = kFilters;
    design.shares_input = true;
    design.uses_shared = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
