// Implicit GEMM, rung 00: one thread per output, all operands from global memory.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, h, v]
//   h = p*stride_h - pad_h + r*dilation_h, v = q*stride_w - pad_w + s*dilation_w
//
// The definition, as loops over c, r and s. After "v0" of the HZAU high performance computing report on
// implicit GEMM (docs/kernels/implicit_gemm.md); here neighbouring threads take neighbouring columns, so
// that stores are coalesced.
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

constexpr int kThreads = 256;

// computes    y [N, K, P*Q] = w [K, C, R, S] applied to x [N, C, H, W], bias, optional ReLU
// work split  block = kThreads columns (n, p, q) of one filter, thread = one output
// memory      none shared: each multiply-add reads an input and a weight through L1
// requires    groups = 1 (RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
__global__ void __launch_bounds__(kThreads)
    conv_implicit_gemm_naive_kernel(const RungShape shape, const RungOperands operands) {
  const RungTile tile(shape, 1, kThreads);
  const int filter = tile.filter, column = tile.column + static_cast<int>(threadIdx.x);
  if (column >= shape.columns) return;
  const RungColumn corner(shape, column);
  const float* image = operands.x + static_cast<int64_t>(corner.n) * shape.image;
  const float* weights = operands.filters + static_cast<int64_t>(filter) * shape.taps;  // [C, R, S]
  float sum = 0.0f;
  for (int c = 0; c < shape.c; ++c) {
    for (int r = 0; r < shape.r; ++r) {
      const int h = corner.h + r * shape.dilation_h;
      for (int s = 0; s < shape.s; ++s, ++weights) {
        const int w = corner.w + s * shape.dilation_w;
        if (h < 0 || h >= shape.h || w < 0 || w >= shape.w) continue;
        sum = fmaf(*weights, image[(c * shape.h + h) * shape.w + w], sum);
      }
    }
  }
  rung_store(shape, operands, filter, column, sum);
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_00_naive() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "implicit_gemm.00_naive";
    design.kernel_name = "conv_implicit_gemm_naive_kernel";
    design.kernel = &conv_implicit_gemm_naive_kernel;
    design.threads = kThreads;
    design.block_filters = 1;
    design.block_columns = kThreads;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
