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

/// Adds the bias, applies ReLU and stores a warp's sums of 16 filters, from `filter` on, at all positions of a tile,
/// from `position` on. The filters of eight positions at a time pass through `turned`, the warp's own kTurnedBytes of
/// shared memory, so that four lanes store 64 bytes of a position together.
__device__ __forceinline__ void store_columns(const RungShape& shape, const RungOperands& operands,
                                              float* turned, int position, int filter,
                                              const float (&sums)[kColumnPositions / 2]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Neither the writes, of eight filters at every other position, nor the reads, of two positions four apart by eight
  // lanes, have bank conflicts.
  float* const own = turned + lane % 4 * 2 * kPitch + lane / 4;
  const int read_position = lane / 8 + lane / 4 % 2 * 4, own_filter = filter + lane % 4 * 4;
  const float* const piece = turned + read_position * kPitch + lane % 4 * 4;
  const float low = __ldg(operands.bias + filter + lane / 4),
              high = __ldg(operands.bias + filter + lane / 4 + 8);
  int output = kDropped;  // of 32 positions, one a lane
#pragma unroll
  for (int j = 0; j < kColumnPositions / 8; ++j) {
    own[0] = relu_if(shape.relu, sums[j * 4] + low);
    own[kPitch] = relu_if(shape.relu, sums[j * 4 + 1] + low);
    own[8] = relu_if(shape.relu, sums[j * 4 + 2] + high);
    own[kPitch + 8] = relu_if(shape.relu, sums[j * 4 + 3] + high);
    __syncwarp();
    const float4 four = *reinterpret_cast<const float4*>(piece);
    if (j % 4 == 0) output = kept_output(shape, position + j * 8 + lane);
    const int target = __shfl_sync(kAllLanes, output, j % 4 * 8 + read_position);
    if (target != kDropped && own_filter < shape.k)
      *reinterpret_cast<float4*>(operands.y + static_cast<int64_t>(target) * shape.k + own_filter) = four;
    __syncwarp();
  }
}

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
