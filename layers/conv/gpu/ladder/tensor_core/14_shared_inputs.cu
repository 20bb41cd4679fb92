// Tensor cores, rung 14: an input is copied once for all taps of a row.
//
// Rung 13 copies each input S times, for the S taps of a row. Here a copy takes the inputs of all of them: those of 128
// positions and the S - 1 to the right of the last. wgmma swizzles by the address, so a tap's operand may begin at any
// row. So positions count the columns of the padded input; the sums under its last S - 1 are dropped.
#include "layers/conv/gpu/ladder/tensor_core/kept_filters.cuh"
#include "layers/conv/gpu/ladder/tensor_core/persistent.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

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
// measured    H200, as tensor_core.10_kept_filters, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md,
//             "The climb" (docs/results/2026-11-29-h200/ladder-tensor_core.json)
template <int kFilters>
__global__ void __launch_bounds__(kThreads, 1)
    conv_tensor_core_shared_inputs_kernel(const RungShape shape,
                                          const __grid_constant__ RungOperands operands) {
  using namespace hopper;
  constexpr int kStepBytes = kFilters * kRowBytes;  // of filters
  extern __shared__ __align__(1024) unsigned char shared[];
  unsigned char* const ring_memory = shared + shape.steps * kStepBytes;
  unsigned char* const lines = ring_memory + shape.stages * stage_bytes(shape.s);
  const uint32_t filters = shared_address(shared), stages = shared_address(ring_memory),
                 barriers = shared_address(lines) + kWarps * kLinesBytes;
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const int first_tile = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const int channel_steps = shape.c / kStep, rows = shape.steps / (shape.s * channel_steps);
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
      for (; tap.r < rows; ++tap.r) {
        for (tap.c = 0; tap.c < shape.c; tap.c += kStep, ring.advance(shape.stages)) {
          const uint32_t full = barriers + ring.index * kBarrierPairBytes;
          const int new_filters = i == first_tile ? shape.s : 0;
          barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
          barrier_arrive_expect(full, copied_bytes(shape.s) + new_filters * kStepBytes);
          rung_tensor_copy(operands, corner, tap, stages + ring.index * stage_bytes(shape.s), full);
          for (int s = 0; s < new_filters; ++s) {
            const int step = (tap.r * shape.s + s) * channel_steps + tap.c / kStep;
            bulk_copy(filters + step * kStepBytes, source + step * kFilters * kStep, kStepBytes, full);
          }
        }
      }
    }
    return;
  }
  const int first_row = warp / 4 * kWarpgroupRows;
#pragma unroll 1
  for (int i = first_tile; i < shape.tiles; i += blocks) {
    const RungTile tile(shape, i, kBlock, kFilters);
    float sums[kFilters / 2];
    uint32_t read = 0;  // the `free` barrier of the stage whose last products are in flight; 0: none
    bool add = false;
    uint64_t row_filters = swizzled_operand_descriptor(filters);
    int row = 0;
#pragma unroll 1
    do {  // not for: ptxas would wait after each product, where there may be none
      int c = 0;
#pragma unroll 1
      do {
        const uint32_t full = barriers + ring.index * kBarrierPairBytes;
        barrier_wait(full, ring.parity);
        uint64_t a =
            swizzled_operand_descriptor(stages + ring.index * stage_bytes(shape.s) + first_row * kRowBytes);
        uint64_t b = row_filters + c * (kStepBytes >> 4);
        int s = 0;
#pragma unroll 1
        do {
          wgmma_hold(sums);
          wgmma_fence();
#pragma unroll
          for (int j = 0; j < kStep / 8; ++j)
            wgmma<MathMode::kTf32>(sums, a + 2 * j, b + 2 * j, j > 0 || add);
          add = true;
          wgmma_commit();
          wgmma_hold(sums);
          wgmma_wait<1>();  // the products before these have read their operands
          if (first_lane && read) barrier_arrive(read);
          read = 0;
          a += kRowBytes >> 4;
          b += channel_steps * (kStepBytes >> 4);
        } while (++s < shape.s);
        read = full + kBarrierBytes;
        ring.advance(shape.stages);
      } while (++c < channel_steps);
      row_filters += shape.s * channel_steps * (kStepBytes >> 4);
    } while (++row < rows);
    wgmma_wait<0>();
    wgmma_hold(sums);
    if (first_lane) barrier_arrive(read);
    const int position = tile.position + first_row + warp % 4 * 16 + static_cast<int>(threadIdx.x % 16);
    int column;
    const int output_row = shape.by_q.divide(position, column);
    const bool kept = position < shape.positions && column < shape.q;
    store_lines(shape, operands, lines + warp * kLinesBytes, kept ? output_row * shape.q + column : kDropped,
                tile.filter, sums);
  }
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
