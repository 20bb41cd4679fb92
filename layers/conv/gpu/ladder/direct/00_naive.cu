// Direct convolution, rung 00: one thread per output, all operands from global memory.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*stride_h - pad_h + r*dilation_h, ...]
//
// The definition, as loops over c, r and s. D. Kirk and W. Hwu, "Programming massively parallel processors", chapter 7.
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding and dilation, bias, optional ReLU
// work split  block = 8 rows x 32 columns of one filter's plane, thread = one output
// memory      none shared: each multiply-add reads an input and a weight through L1
// requires    groups = 1 (RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
__global__ void conv_direct_naive_kernel(const RungShape shape, const float* __restrict__ x,
                                         const float* __restrict__ filters,  // [K, C, R, S]
                                         const float* __restrict__ bias,     // [K]
                                         float* __restrict__ y) {
  const RungBlock block(shape);
  const int p = block.p + threadIdx.y, q = block.q + threadIdx.x;
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q * shape.stride_w - shape.pad_w;
  const float* weights = filters + static_cast<int64_t>(block.k) * shape.c * shape.r * shape.s;
  float sum = bias[block.k];
  for (int c = 0; c < shape.c; ++c) {
    for (int r = 0; r < shape.r; ++r) {
      for (int s = 0; s < shape.s; ++s, ++weights) {
        const float value =
            rung_input(shape, x, block.n, c, h0 + r * shape.dilation_h, w0 + s * shape.dilation_w);
        sum = fmaf(*weights, value, sum);
      }
    }
  }
  rung_store(shape, y, block.n, block.k, p, q, sum);
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_00_naive() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.00_naive";
    design.kernel_name = "conv_direct_naive_kernel";
    design.kernels = [](const Conv2dProblem&) {
      RungKernels kernels;
      kernels.global = &conv_direct_naive_kernel;
      return kernels;
    };
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
