// Direct convolution, rung 02: the block's input tile, including the halo, is in shared memory.
//
// Neighbouring windows overlap: with 3x3 and stride 1 each input is used nine times. A block reads its tile once.
// D. Kirk and W. Hwu, "Programming massively parallel processors", chapter 7, "Tiled convolution with halo cells".
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding and dilation, bias, optional ReLU
// work split  block = up to 8 rows x 32 columns of one filter's plane, thread = one output
// memory      shared: input tile [chunk, tile_h, pitch]; filters and biases in constant memory
// requires    groups = 1, filters that fit Bank, a tile that fits 48 KiB (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <typename Bank>
__global__ void conv_direct_shared_tile_kernel(const __grid_constant__ Bank bank, const RungShape shape,
                                               const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  int weight = block.k * shape.c * shape.r * shape.s;
  float sum = bank.values[rung_bias(shape, block.k)];
  for (int c0 = 0; c0 < shape.c; c0 += shape.chunk) {
    const float* tile = stage_rung_tile(shape, x, block, c0);
    const float* plane = tile + threadIdx.y * shape.stride_h * shape.pitch + threadIdx.x * shape.stride_w;
    const int channels = min(shape.chunk, shape.c - c0);
    for (int c = 0; c < channels; ++c, plane += shape.tile_h * shape.pitch) {
      for (int r = 0; r < shape.r; ++r) {
        for (int s = 0; s < shape.s; ++s, ++weight) {
          const float value = plane[r * shape.dilation_h * shape.pitch + s * shape.dilation_w];
          sum = fmaf(bank.values[weight], value, sum);
        }
      }
    }
  }
  rung_store(shape, y, block.n, block.k, block.p + threadIdx.y, block.q + threadIdx.x, sum);
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_02_shared_tile() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.02_shared_tile";
    design.kernel_name = "conv_direct_shared_tile_kernel";
    design.kernels = [](const Conv2dProblem&) {
      RungKernels kernels;
      kernels.small = &conv_direct_shared_tile_kernel<SmallBank>;
      kernels.large = &conv_direct_shared_tile_kernel<LargeBank>;
      return kernels;
    };
    design.uses_shared = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
