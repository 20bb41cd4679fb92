// Tensor cores, rung 14: an input is copied once for all taps of a row.
//
// Rung 13 copies each input S times, for the S taps of a row. Here a copy takes the inputs of all of them: those of 128
// positions and the S - 1 to the right of the last. wgmma swizzles by the address, so a tap's operand may begin at any
// row. So positions count the columns of the padded input; the sums under its last S - 1 are dropped.
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"
#include "layers/conv/gpu/ladder/tensor_core/shared_inputs.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks with one tile of filters, tile = 128 positions x kFilters, warpgroup = 64 x kFilters;
//             one warp copies
// memory      shared: all filters of a tile, then stages of 128 + S - 1 inputs x 32 channels, both swizzled, and 16
//             lines of sums for each warp; registers: kFilters / 2 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (by RungBackend);
//             filters that fit (KeptFiltersConv); a grid of a multiple of the filter tiles
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
template <int kFilters>
__global__ void __launch_bounds__(kThreads, 1)
    conv_tensor_core_shared_inputs_kernel(const RungShape shape,
                                          const __grid_constant__ RungOperands operands) {
  shared_inputs<kFilters>(shape, operands);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_14_shared_inputs() {
  using namespace tensor_core_ladder;
  static const LadderBackend<KeptFiltersConv> backend([] {
    KeptDesign design;
    design.name = "tensor_core.14_shared_inputs";
    design.kernel_name = "conv_tensor_core_shared_inputs_kernel";
    design.kernel_128 = &conv_tensor_core_shared_inputs_kernel<128>;
    design.kernel_64 = &conv_tensor_core_shared_inputs_kernel<64>;
    design.shares_inputs = true;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.tensor_copies = true;
    design.resident_blocks = 1;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
