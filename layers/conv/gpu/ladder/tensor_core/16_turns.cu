// Tensor cores, rung 16: two warpgroups take turns, so that one stores while the other multiplies.
//
// In rung 15 nothing multiplies while a tile is stored. Here a tile belongs to one warpgroup, and the next one to the
// other: 64 positions x 128 filters, or 192 positions x 64 filters as rows. One multiplies its tile while the other
// stores the tile before, as in CUTLASS's schedule KernelTmaWarpSpecializedPingpong.
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
// memory      shared: all filters of a tile, then stages of a tile's positions and S - 1 more x 32 channels, both
//             swizzled, for each warp 16 lines of sums (128) or 8 positions of 16 filters (64), a barrier for each
//             warpgroup and each step; registers: 64 or 96 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (by RungBackend);
//             filters that fit (KeptFiltersConv); a grid of a multiple of the filter tiles
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
template <int kFilters>
__global__ void __launch_bounds__(kThreads, 1)
    conv_tensor_core_turns_kernel(const RungShape shape, const __grid_constant__ RungOperands operands) {
  walk_in_turns<TurnTile<kFilters>>(shape, operands);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_16_turns() {
  using namespace tensor_core_ladder;
  static const LadderBackend<KeptFiltersConv> backend([] {
    KeptDesign design = turn_design();
    design.name = "tensor_core.16_turns";
    design.kernel_name = "conv_tensor_core_turns_kernel";
    design.kernel_128 = &conv_tensor_core_turns_kernel<128>;
    design.kernel_64 = &conv_tensor_core_turns_kernel<kRowFilters>;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
