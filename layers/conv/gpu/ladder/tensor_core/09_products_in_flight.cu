// Tensor cores, rung 09: the next products start while those before are still computed.
//
// A warpgroup of rung 08 waits for the end of a step's products, and the tensor cores for its next ones. Here a
// warpgroup starts the products of a step first, then waits for those of the step before and frees their stage.
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

constexpr int kGroups = 2, kThreads = kGroups * kWarpgroup + 32, kBlock = 128, kStages = 3;
constexpr int kOperandBytes = kBlock * kRowBytes, kStageBytes = 2 * kOperandBytes;  // inputs, then filters

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 128 positions x 128 filters, warpgroup = 64 x 128 in products of 64 x 128 x 8; one warp copies
// memory      shared: three stages of 128 positions and 128 filters x 32 channels, swizzled; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_products_in_flight_kernel(const RungShape shape,
                                               const __grid_constant__ RungOperands operands) {
  using namespace hopper;
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t stages = shared_address(shared), barriers = stages + kStages * kStageBytes;
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlock, kBlock);
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const bool first_lane = threadIdx.x % 32 == 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      barrier_init(barriers + i * kBarrierPairBytes, 1);
      barrier_init(barriers + i * kBarrierPairBytes + kBarrierBytes, 4 * kGroups);  // the warps that multiply
    }
    fence_barrier_init();
    fence_async_proxy();
  }
  __syncthreads();
  RingPosition ring;
  if (warp == 4 * kGroups) {
    if (!first_lane) return;
    const RungCorner corner(shape, tile.position);
    const float* filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kBlock * kStep;
    RungTap tap;
    for (int step = 0; step < shape.steps; ++step, filters += kBlock * kStep) {
      const uint32_t inputs = stages + ring.index * kStageBytes,
                     full = barriers + ring.index * kBarrierPairBytes;
      barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
      barrier_arrive_expect(full, kStageBytes);
      rung_tensor_copy(operands, corner, tap, inputs, full);
      bulk_copy(inputs + kOperandBytes, filters, kOperandBytes, full);
      tap.advance(shape);
      ring.advance(kStages);
    }
    return;
  }

  const int first_row = warp / 4 * kWarpgroupRows;
  float sums[kBlock / 2];
  uint32_t read = 0;  // the `free` barrier of the step whose products are in flight
  int step = 0;
#pragma unroll 1
  do {  // not for: ptxas would wait after each product, where there may be none
    const uint32_t inputs = stages + ring.index * kStageBytes,
                   full = barriers + ring.index * kBarrierPairBytes;
    barrier_wait(full, ring.parity);
    const uint64_t a = swizzled_operand_descriptor(inputs + first_row * kRowBytes),
                   b = swizzled_operand_descriptor(inputs + kOperandBytes);
    wgmma_hold(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kStep / 8; ++i) wgmma<MathMode::kTf32>(sums, a + 2 * i, b + 2 * i, i > 0 || step > 0);
    wgmma_commit();
    wgmma_hold(sums);
    wgmma_wait<1>();  // the products before these have read their stage
    if (first_lane && step > 0) barrier_arrive(read);
    read = full + kBarrierBytes;
    ring.advance(kStages);
  } while (++step < shape.steps);
  wgmma_wait<0>();
  wgmma_hold(sums);
#pragma unroll
  for (int j = 0; j < kBlock / 8; j += 2)
    rung_store_16x16(shape, operands, tile.position + first_row + warp % 4 * 16, tile.filter + j * 8,
                     sums + j * 4, sums + j * 4 + 4);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_09_products_in_flight() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.09_products_in_flight";
    design.kernel_name = "conv_tensor_core_products_in_flight_kernel";
    design.kernel = &conv_tensor_core_products_in_flight_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    design.shared_bytes = kStages * (kStageBytes + kBarrierPairBytes);
    design.tensor_copies = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
