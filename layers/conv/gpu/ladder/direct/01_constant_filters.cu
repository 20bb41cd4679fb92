// Direct convolution, rung 01: the filters are in constant memory.
//
// All threads of a warp compute one filter and need the same weight at the same time. Constant memory delivers it by
// one broadcast, so the load units are free for the inputs. D. Kirk and W. Hwu, "Programming massively parallel
// processors", chapter 7, "Constant memory and caching".
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding and dilation, bias, optional ReLU
// work split  block = 8 rows x 32 columns of one filter's plane, thread = one output
// memory      inputs through L1, filters and biases in constant memory
// requires    groups = 1, filters that fit Bank (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <typename Bank>
__global__ void conv_direct_constant_filters_kernel(const __grid_constant__ Bank bank, const RungShape shape,
                                                    const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  const int p = block.p + threadIdx.y, q = block.q + threadIdx.x;
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q * shape.stride_w - shape.pad_w;
  int weight = block.k * shape.c * shape.r * shape.s;
  float sum = bank.values[rung_bias(shape, block.k)];
  for (int c = 0; c < shape.c; ++c) {
    for (int r = 0; r < shape.r; ++r) {
      for (int s = 0; s < shape.s; ++s, ++weight) {
        const float value =
            rung_input(shape, x, block.n, c, h0 + r * shape.dilation_h, w0 + s * shape.dilation_w);
        sum = fmaf(bank.values[weight], value, sum);
      }
    }
  }
  rung_store(shape, y, block.n, block.k, p, q, sum);
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_01_constant_filters() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.01_constant_filters";
    design.kernel_name = "conv_direct_constant_filters_kernel";
    design.kernels = [](const Conv2dProblem&) {
      RungKernels kernels;
      kernels.small = &conv_direct_constant_filters_kernel<SmallBank>;
      kernels.large = &conv_direct_constant_filters_kernel<LargeBank>;
      return kernels;
    };
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
