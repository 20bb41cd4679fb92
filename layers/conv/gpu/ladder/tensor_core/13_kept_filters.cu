// Tensor cores, rung 13: a block keeps its filters in shared memory.
//
// Half of what a block of rung 12 copies are filters, the same for each of its tiles. Here a block copies the filters
// of a tile once, with its first inputs, and then inputs alone.
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  persistent blocks with one tile of filters, tile = 128 positions x kFilters, warpgroup = 64 x kFilters;
//             one warp copies
// memory      shared: all filters of a tile, then stages of 128 inputs x 32 channels, both swizzled, and 16 lines of
//             sums for each warp; registers: kFilters / 2 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (by RungBackend);
//             filters that fit (KeptFiltersConv); a grid of a multiple of the filter tiles
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
template <int kFilters>
__global__ void __launch_bounds__(kThreads, 1)
    conv_tensor_core_kept_filters_kernel(const RungShape shape,
                                         const __grid_constant__ RungOperands operands) {
  using namespace hopper;
  constexpr int kStepBytes = kFilters * kRowBytes;  // of filters
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned char* const ring_memory = shared + shape.steps * kStepBytes;
  unsigned char* const lines = ring_memory + shape.stages * kOperandBytes;
  const uint32_t filters = shared_address(shared), stages = shared_address(ring_memory),
                 barriers = shared_address(lines) + kWarps * kLinesBytes;
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const int first_tile = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const bool first_lane = threadIdx.x % 32 == 0;
  init_ring(barriers, shape.stages);
  RingPosition ring;
  if (warp == kWarps) {
    if (!first_lane) return;
    for (int i = first_tile; i < shape.tiles; i += blocks) {
      const RungTile tile(shape, i, kBlock, kFilters);
      const RungCorner corner(shape, tile.position);
      const float* const source =
          operands.filters + int64_t{tile.filter_tile} * shape.steps * kFilters * kStep;
      RungTap tap;
      for (int step = 0; step < shape.steps; ++step) {
        const uint32_t full = barriers + ring.index * kBarrierPairBytes;
        const bool first = i == first_tile;
        barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
        barrier_arrive_expect(full, kOperandBytes + (first ? kStepBytes : 0));
        rung_tensor_copy(operands, corner, tap, stages + ring.index * kOperandBytes, full);
        if (first) bulk_copy(filters + step * kStepBytes, source + step * kFilters * kStep, kStepBytes, full);
        tap.advance(shape);
        ring.advance(shape.stages);
      }
    }
    return;
  }
  const int first_row = warp / 4 * kWarpgroupRows;
#pragma unroll 1
  for (int i = first_tile; i < shape.tiles; i += blocks) {
    const RungTile tile(shape, i, kBlock, kFilters);
    float sums[kFilters / 2];
    uint32_t read = 0;  // the `free` barrier of the step whose products are in flight
    int step = 0;
#pragma unroll 1
    do {  // not for: ptxas would wait after each product, where there may be none
      const uint32_t full = barriers + ring.index * kBarrierPairBytes;
      barrier_wait(full, ring.parity);
      const uint64_t a = swizzled_operand_descriptor(stages + ring.index * kOperandBytes +
                                                     first_row * kRowBytes),
                     b = swizzled_operand_descriptor(filters + step * kStepBytes);
      wgmma_hold(sums);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < kStep / 8; ++j)
        wgmma<MathMode::kTf32>(sums, a + 2 * j, b + 2 * j, j > 0 || step > 0);
      wgmma_commit();
      wgmma_hold(sums);
      wgmma_wait<1>();  // the products before these have read their stage
      if (first_lane && step > 0) barrier_arrive(read);
      read = full + kBarrierBytes;
      ring.advance(shape.stages);
    } while (++step < shape.steps);
    wgmma_wait<0>();
    wgmma_hold(sums);
    if (first_lane) barrier_arrive(read);
    const int output = tile.position + first_row + warp % 4 * 16 + static_cast<int>(threadIdx.x % 16);
    store_lines(shape, operands, lines + warp * kLinesBytes, output < shape.positions ? output : kDropped,
                tile.filter, sums);
  }
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_13_kept_filters() {
  using namespace tensor_core_ladder;
  static const LadderBackend<KeptFiltersConv> backend([] {
    KeptDesign design;
    design.name = "tensor_core.13_kept_filters";
    design.kernel_name = "conv_tensor_core_kept_filters_kernel";
    design.kernel_128 = &conv_tensor_core_kept_filters_kernel<128>;
    design.kernel_64 = &conv_tensor_core_kept_filters_kernel<64>;
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
