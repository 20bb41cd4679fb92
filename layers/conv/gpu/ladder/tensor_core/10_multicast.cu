// Tensor cores, rung 10: two blocks of a cluster share the filters of a step (multicast).
//
// Both blocks have the same filters and neighbouring positions. Each copies its inputs, and half of the filters to the
// shared memory of both: L2 is read for 24 KB a step and block instead of 32. The price: a stage is free only when the
// warps of both blocks have read it. PTX ISA, "cp.async.bulk" with .multicast::cluster.
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/cluster.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

constexpr int kGroups = 2, kThreads = kGroups * kWarpgroup + 32, kBlock = 128, kStages = 3;
constexpr int kOperandBytes = kBlock * kRowBytes, kStageBytes = 2 * kOperandBytes;  // inputs, then filters
constexpr int kCluster = 2,
              kShareBytes = kOperandBytes / kCluster;  // blocks; of the filters, that a block copies
constexpr uint16_t kBothBlocks = (1 << kCluster) - 1;

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  cluster = 256 positions x 128 filters, block = 128 x 128, warpgroup = 64 x 128; one warp copies
// memory      shared: three stages of 128 positions and 128 filters x 32 channels, swizzled; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1, whole clusters (all by
//             RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads, 2)
    conv_tensor_core_multicast_kernel(const RungShape shape, const __grid_constant__ RungOperands operands) {
  using namespace hopper;
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t stages = shared_address(shared), barriers = stages + kStages * kStageBytes;
  const int rank = cluster_rank();
  const RungTile tile(shape, static_cast<int>(blockIdx.x) / kCluster, kCluster * kBlock, kBlock);
  const int position = tile.position + rank * kBlock;
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const bool first_lane = threadIdx.x % 32 == 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      barrier_init(barriers + i * kBarrierPairBytes, 1);
      barrier_init(barriers + i * kBarrierPairBytes + kBarrierBytes, kCluster * 4 * kGroups);
    }
    fence_barrier_init();
    fence_async_proxy();
  }
  cluster_arrive();  // until the barriers of both blocks are initialised
  cluster_wait();
  RingPosition ring;
  if (warp == 4 * kGroups) {
    if (first_lane) {
      const RungCorner corner(shape, position);
      const float* filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kBlock * kStep +
                             rank * (kShareBytes / 4);
      RungTap tap;
      for (int step = 0; step < shape.steps; ++step, filters += kBlock * kStep) {
        const uint32_t inputs = stages + ring.index * kStageBytes,
                       full = barriers + ring.index * kBarrierPairBytes;
        barrier_wait(full + kBarrierBytes, ring.parity ^ 1);
        barrier_arrive_expect(full, kStageBytes);
        rung_tensor_copy(operands, corner, tap, inputs, full);
        bulk_copy_to_blocks(inputs + kOperandBytes + rank * kShareBytes, filters, kShareBytes, full,
                            kBothBlocks);
        tap.advance(shape);
        ring.advance(kStages);
      }
    }
    __syncwarp();
  } else {
    const int first_row = warp / 4 * kWarpgroupRows, lane = static_cast<int>(threadIdx.x % 32);
    const bool signals = lane < kCluster;  // to block `lane`
    const uint32_t free = in_block(barriers + kBarrierBytes, signals ? lane : rank);
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
      for (int i = 0; i < kStep / 8; ++i)
        wgmma<MathMode::kTf32>(sums, a + 2 * i, b + 2 * i, i > 0 || step > 0);
      wgmma_commit();
      wgmma_hold(sums);
      wgmma_wait<1>();  // the products before these have read their stage
      if (signals && step > 0) arrive_in_cluster(read);
      read = free + ring.index * kBarrierPairBytes;
      ring.advance(kStages);
    } while (++step < shape.steps);
    wgmma_wait<0>();
    wgmma_hold(sums);
#pragma unroll
    for (int j = 0; j < kBlock / 8; j += 2)
      rung_store_16x16(shape, operands, position + first_row + warp % 4 * 16, tile.filter + j * 8,
                       sums + j * 4, sums + j * 4 + 4);
  }
  cluster_arrive();  // no block ends while the other copies to it
  cluster_wait();
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_10_multicast() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.10_multicast";
    design.kernel_name = "conv_tensor_core_multicast_kernel";
    design.kernel = &conv_tensor_core_multicast_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    design.shared_bytes = kStages * (kStageBytes + kBarrierPairBytes);
    design.tensor_copies = true;
    design.cluster = kCluster;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
