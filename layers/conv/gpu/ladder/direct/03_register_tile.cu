// Direct convolution, rung 03: a thread keeps 4 columns x 4 filters of outputs in registers.
//
// Each input from shared memory is used for four filters and each weight for four columns: 8 reads for 16 multiply-adds
// instead of 2 reads for one. Groups of filters of one block share its input tile. V. Volkov and J. Demmel,
// "Benchmarking GPUs to tune dense linear algebra", SC 2008.
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kFilters = 4;

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding and dilation, bias, optional ReLU
// work split  block = up to 8 rows x 128 columns of 4 filters a group; thread = 4 neighbouring columns of 4 filters
// memory      shared: input tile [chunk, tile_h, pitch]; filters and biases in constant memory; 16 sums in registers
// requires    groups = 1, filters that fit Bank, a tile that fits 48 KiB (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <typename Bank>
__global__ void __launch_bounds__(256)
    conv_direct_register_tile_kernel(const __grid_constant__ Bank bank, const RungShape shape,
                                     const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  const int k0 = block.k + threadIdx.z * kFilters, taps = shape.c * shape.r * shape.s;
  int first[kFilters];  // weight of each filter; filters past the last one repeat it and are not stored
  float sums[kFilters][kColumns];
#pragma unroll
  for (int k = 0; k < kFilters; ++k) {
    const int filter = min(k0 + k, shape.k - 1);
    first[k] = filter * taps;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) sums[k][j] = bank.values[rung_bias(shape, filter)];
  }
  int tap = 0;
  for (int c0 = 0; c0 < shape.c; c0 += shape.chunk) {
    const float* tile = stage_rung_tile(shape, x, block, c0);
    const float* plane =
        tile + threadIdx.y * shape.stride_h * shape.pitch + threadIdx.x * kColumns * shape.stride_w;
    const int channels = min(shape.chunk, shape.c - c0);
    for (int c = 0; c < channels; ++c, plane += shape.tile_h * shape.pitch) {
      for (int r = 0; r < shape.r; ++r) {
        for (int s = 0; s < shape.s; ++s, ++tap) {
          const float* source = plane + r * shape.dilation_h * shape.pitch + s * shape.dilation_w;
          float in[kColumns];
#pragma unroll
          for (int j = 0; j < kColumns; ++j) in[j] = source[j * shape.stride_w];
#pragma unroll
          for (int k = 0; k < kFilters; ++k) {
            const float weight = bank.values[first[k] + tap];
#pragma unroll
            for (int j = 0; j < kColumns; ++j) sums[k][j] = fmaf(weight, in[j], sums[k][j]);
          }
        }
      }
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

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_03_register_tile() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.03_register_tile";
    design.kernel_name = "conv_direct_register_tile_kernel";
    design.kernels = [](const Conv2dProblem&) {
      RungKernels kernels;
      kernels.small = &conv_direct_register_tile_kernel<SmallBank>;
      kernels.large = &conv_direct_register_tile_kernel<LargeBank>;
      return kernels;
    };
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
