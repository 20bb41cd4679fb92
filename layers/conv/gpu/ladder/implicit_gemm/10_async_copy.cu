// Implicit GEMM, rung 10: asynchronous copies into four stages of shared memory.
//
// Rung 09 loads the next step through registers and has the time of one step for it. cp.async copies from global to
// shared memory without registers, including zeros, and three steps are in flight while one is computed. After the
// multistage pipeline of CUTLASS (NVIDIA, "CUTLASS: fast linear algebra in CUDA C++", 2017).
#include "layers/conv/gpu/ladder/implicit_gemm/staged_product.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

using Tile = StagedTile<8>;

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 128 filters x 128 columns, thread = 8 x 8: rows and columns 4 + 4, 64 apart
// memory      shared: four stages of 8 taps x 128 filters and 8 taps x 128 columns; registers: 64 sums
// requires    groups = 1, compute capability 8.0; unless kChecked no padding and C*R*S a multiple of 8 (all
//             by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
template <bool kChecked>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    conv_implicit_gemm_async_copy_kernel(const RungShape shape, const RungOperands operands) {
  staged_product<Tile, false, kChecked>(shape, operands);
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_10_async_copy() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design = staged_design<Tile>();
    design.name = "implicit_gemm.10_async_copy";
    design.kernel_name = "conv_implicit_gemm_async_copy_kernel";
    design.kernel = &conv_implicit_gemm_async_copy_kernel<true>;
    design.whole = &conv_implicit_gemm_async_copy_kernel<false>;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
