// Implicit GEMM, rung 12: 16 x 8 outputs per thread, with half the threads.
//
// 8 x 8 reads 16 floats from shared memory for 64 multiply-adds; 16 x 8 reads 24 for 128, a quarter less. The price:
// half as many warps hide latency, 8 per multiprocessor.
#include "layers/conv/gpu/ladder/implicit_gemm/staged_product.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

using Tile = StagedTile<16>;

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 128 filters x 128 columns, thread = 16 x 8: rows 4 x 4, 32 apart; columns 4 + 4, 64 apart
// memory      shared: four stages of 8 taps x 128 filters and 8 taps x 128 columns; registers: 128 sums, two
//             taps of operands
// requires    groups = 1, compute capability 8.0; unless kChecked no padding and C*R*S a multiple of 8 (all
//             by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
template <bool kChecked>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    conv_implicit_gemm_thread_16x8_kernel(const RungShape shape, const RungOperands operands) {
  staged_product<Tile, true, kChecked>(shape, operands);
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_12_thread_16x8() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design = staged_design<Tile>();
    design.name = "implicit_gemm.12_thread_16x8";
    design.kernel_name = "conv_implicit_gemm_thread_16x8_kernel";
    design.kernel = &conv_implicit_gemm_thread_16x8_kernel<true>;
    design.whole = &conv_implicit_gemm_thread_16x8_kernel<false>;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
