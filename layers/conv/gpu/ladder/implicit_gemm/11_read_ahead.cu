// Implicit GEMM, rung 11: the next tap's operands are read while this tap is computed.
//
// The copies of rung 10 freed the registers that held the next step. Here they hold the operands of the next tap, which
// are read from shared memory during the arithmetic of this one.
#include "layers/conv/gpu/ladder/implicit_gemm/staged_product.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

using Tile = StagedTile<8>;

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 128 filters x 128 columns, thread = 8 x 8: rows and columns 4 + 4, 64 apart
// memory      shared: four stages of 8 taps x 128 filters and 8 taps x 128 columns; registers: 64 sums, two
//             taps of operands
// requires    groups = 1, compute capability 8.0; unless kChecked no padding and C*R*S a multiple of 8 (all
//             by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
template <bool kChecked>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    conv_implicit_gemm_read_ahead_kernel(const RungShape shape, const RungOperands operands) {
  staged_product<Tile, true, kChecked>(shape, operands);
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_11_read_ahead() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design = staged_design<Tile>();
    design.name = "implicit_gemm.11_read_ahead";
    design.kernel_name = "conv_implicit_gemm_read_ahead_kernel";
    design.kernel = &conv_implicit_gemm_read_ahead_kernel<true>;
    design.whole = &conv_implicit_gemm_read_ahead_kernel<false>;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
