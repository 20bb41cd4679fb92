// Tensor cores, rung 17: a step has two runs of 32 channels where that fits.
//
// A step of rung 16 is a row of the filters with 32 channels: S products, 1 with 1 x 1 filters. A warpgroup waits for a
// barrier and signals one for each. Here a step copies 64 channels, and has twice as many products, where tiles have
// 128 filters, C is a multiple of 64, and three such steps fit beside the filters.
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"
#include "layers/conv/gpu/ladder/tensor_core/turns.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks with one tile of filters; tile = 64 positions x 128 filters or 192 x 64, of one of two
//             warpgroups; one warp copies
// memory      shared: all filters of a tile, then stages of a tile's positions and S - 1 more x kRuns times 32
//             channels, both swizzled, for each warp 16 lines of sums (128) or 8 positions of 16 filters (64), a
//             barrier for each warpgroup and each step; registers: 64 or 96 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32 * kRuns, K of 4, stride and dilation 1 (by RungBackend);
//             filters that fit (KeptFiltersConv); a grid of a multiple of the filter tiles
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
template <int kFilters, int kRuns>
__global__ void __launch_bounds__(kThreads, 1)
    conv_tensor_core_two_runs_kernel(const RungShape shape, const __grid_constant__ RungOperands operands) {
  walk_in_turns<TurnTile<kFilters, kRuns>>(shape, operands);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_17_two_runs() {
  using namespace tensor_core_ladder;
  static const LadderBackend<KeptFiltersConv> backend([] {
    KeptDesign design = turn_design();
    design.name = "tensor_core.17_two_runs";
    design.kernel_name = "conv_tensor_core_two_runs_kernel";
    design.kernel_128_two_runs = &conv_tensor_core_two_runs_kernel<128, 2>;
    design.kernel_128 = &conv_tensor_core_two_runs_kernel<128, 1>;
    design.kernel_64 = &conv_tensor_core_two_runs_kernel<kRowFilters, 1>;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
