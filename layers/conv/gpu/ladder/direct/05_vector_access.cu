// Direct convolution, rung 05: shared memory is read, and outputs are stored, four floats at a time.
//
// Threads whose columns are 4 floats apart conflict in the banks: reading one float takes 4 passes. Reading a float4
// takes 4 passes too, for four times the data.
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kFilters = 4;

// computes    y [N, K, P, Q] of x [N, C, H, W], kWindow x kWindow filters, any padding, bias, optional ReLU
// work split  block = up to 8 rows x 128 columns of 4 filters a group; thread = 4 neighbouring columns of 4 filters
// memory      shared: input tile [chunk, tile_h, pitch], pitch a multiple of 4 that leaves room to read past the last
//             column; filters and biases in constant memory; registers: 16 sums and a row of inputs
// requires    square window and stride as compiled, no dilation, groups = 1, filters that fit Bank (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <typename Bank, int kWindow, int kStride>
__global__ void __launch_bounds__(256)
    conv_direct_vector_access_kernel(const __grid_constant__ Bank bank, const RungShape shape,
                                     const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kVectors = ((kColumns - 1) * kStride + kWindow + 3) / 4;
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
        float in[kVectors * 4];
        rung_read_vectors<kVectors>(plane + r * shape.pitch, in);
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
    rung_store_together(shape, y, block.n, k0 + k, block.p + threadIdx.y, block.q + threadIdx.x * kColumns,
                        sums[k]);
  }
}

template <int kWindow, int kStride>
struct Kernels {
  static RungKernels get() {
    RungKernels kernels;
    kernels.small = &conv_direct_vector_access_kernel<SmallBank, kWindow, kStride>;
    kernels.large = &conv_direct_vector_access_kernel<LargeBank, kWindow, kStride>;
    return kernels;
  }
};

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_05_vector_access() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.05_vector_access";
    design.kernel_name = "conv_direct_vector_access_kernel";
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
