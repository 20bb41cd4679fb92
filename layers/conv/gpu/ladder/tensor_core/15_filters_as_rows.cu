// Tensor cores, rung 15: where a tile has 64 filters, they are the rows of a product, and 192 positions its columns.
//
// A product of 64 positions x 64 filters reads 128 rows of operands for 4,096 sums, and shared memory at its whole
// rate. One of 64 filters x 192 positions reads 256 rows for 12,288 sums, two thirds of that. Beside the filters of 3 x
// 3 on 64 channels there is no room for more inputs, so one warpgroup multiplies. Where 128 filters fit, a tile is that
// of rung 14.
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"
#include "layers/conv/gpu/ladder/tensor_core/shared_inputs.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks with one tile of filters. kFilters = 64: tile = 192 positions x 64 filters, one
//             warpgroup multiplies; 128: tile = 128 positions x 128 filters, warpgroup = 64 x 128. One warp copies
// memory      shared: all filters of a tile, then stages of a tile's positions and S - 1 more x 32 channels, both
//             swizzled, and for each warp 8 positions of 16 filters (64) or 16 lines of sums (128); registers: 96 or 64
//             sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (by RungBackend);
//             filters that fit (KeptFiltersConv); a grid of a multiple of the filter tiles
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
template <int kFilters>
__global__ void __launch_bounds__(kFilters == kRowFilters ? kRowThreads : kThreads, 1)
    conv_tensor_core_filters_as_rows_kernel(const RungShape shape,
                                            const __grid_constant__ RungOperands operands) {
  if constexpr (kFilters == kRowFilters) {
    walk_shared_inputs<kFilters, true>(shape, operands,
                                       [&](int warp, int position, int filter, unsigned char* turned,
                                           const float(&sums)[kColumnPositions / 2]) {
                                         store_columns(shape, operands,
                                                       reinterpret_cast<float*>(turned + warp * kTurnedBytes),
                                                       position, filter + warp * 16, sums);
                                       });
  } else {
    shared_inputs<kFilters>(shape, operands);
  }
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_15_filters_as_rows() {
  using namespace tensor_core_ladder;
  static const LadderBackend<KeptFiltersConv> backend([] {
    KeptDesign design;
    design.name = "tensor_core.15_filters_as_rows";
    design.kernel_name = "conv_tensor_core_filters_as_rows_kernel";
    design.kernel_128 = &conv_tensor_core_filters_as_rows_kernel<128>;
    design.kernel_64 = &conv_tensor_core_filters_as_rows_kernel<kRowFilters>;
    design.shares_inputs = true;
    design.filters_as_rows = true;
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
