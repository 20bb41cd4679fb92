// Tensor cores, rung 06: wgmma, products of a warpgroup that read both operands from shared memory.
//
// mma.sync in rung 05 needs its operands in registers: six loads for each sixteen products, and the warp waits. wgmma
// multiplies 64 positions by 128 filters at once and reads swizzled rows itself; four warps share the filters. Nothing
// rounds on that way, so each thread rounds what it copied, in place. PTX ISA, "wgmma".
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/barrier.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/instructions/wgmma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

constexpr int kThreads = 2 * kWarpgroup, kBlock = 128, kStages = 3;
constexpr uint32_t kOperandBytes = kBlock * kRowBytes,
                   kStageBytes = 2 * kOperandBytes;  // inputs, then filters

/// Rounds four floats in shared memory to tf32.
__device__ __forceinline__ void round_piece(unsigned char* place) {
  const float4 four = *reinterpret_cast<const float4*>(place);
  *reinterpret_cast<uint4*>(place) = make_uint4(round_to_nearest_tf32(four.x), round_to_nearest_tf32(four.y),
                                                round_to_nearest_tf32(four.z), round_to_nearest_tf32(four.w));
}

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 128 positions x 128 filters, warpgroup = 64 x 128 in products of 64 x 128 x 8
// memory      shared: three stages of 128 positions and 128 filters x 32 channels, swizzled; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_warpgroup_kernel(const RungShape shape, const RungOperands operands) {
  using namespace hopper;
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t stages = shared_address(shared);
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlock, kBlock);
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x / 32), 0);  // the same for its lanes
  const int first_row = warp / 4 * kWarpgroupRows;

  using Rows = RungRows<kBlock, kThreads>;
  const int copied = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  const Rows rows(shape, tile.position + copied, piece);
  const float* next_filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kBlock * kStep +
                              static_cast<int>(threadIdx.x) * kPiece;
  const uint32_t target = copied * kRowBytes + (piece ^ (copied % 8)) * 16;  // swizzled, as in rung 04
  RungTap tap;
  const auto copy = [&](int step) {
    if (step < shape.steps) {
#pragma unroll
      for (int i = 0; i < Rows::kCount; ++i) {
        bool inside;
        const float* source = rows.piece(shape, operands.x, tap, i, inside);
        const uint32_t at = stages + target + step % kStages * kStageBytes + i * Rows::kApart * kRowBytes;
        copy_async_16_or_zero(at, source, inside);
        copy_async_16(at + kOperandBytes, next_filters + i * kThreads * kPiece);
      }
      next_filters += kBlock * kStep;
      tap.advance(shape);
    }
    commit_copies();
  };

  for (int step = 0; step < kStages - 1; ++step) copy(step);
  float sums[kBlock / 2];
  for (int step = 0; step < shape.steps; ++step) {
    const uint32_t stage = step % kStages * kStageBytes;
    wait_for_copies<kStages - 2>();
#pragma unroll
    for (int i = 0; i < Rows::kCount; ++i)
      round_piece(shared + stage + target + i * Rows::kApart * kRowBytes);
    fence_async_proxy();  // wgmma sees what the threads wrote
    __syncthreads();      // also until no product reads the stage that is overwritten
    copy(step + kStages - 1);
    const uint64_t a = swizzled_operand_descriptor(stages + stage + first_row * kRowBytes),
                   b = swizzled_operand_descriptor(stages + stage + kOperandBytes);
    wgmma_hold(sums);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kStep / 8; ++i) wgmma<MathMode::kTf32>(sums, a + 2 * i, b + 2 * i, i > 0 || step > 0);
    wgmma_commit();
    wgmma_hold(sums);
    wgmma_wait<0>();
    wgmma_hold(sums);
  }
#pragma unroll
  for (int j = 0; j < kBlock / 8; j += 2)
    rung_store_16x16(shape, operands, tile.position + first_row + warp % 4 * 16, tile.filter + j * 8,
                     sums + j * 4, sums + j * 4 + 4);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_06_warpgroup() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.06_warpgroup";
    design.kernel_name = "conv_tensor_core_warpgroup_kernel";
    design.kernel = &conv_tensor_core_warpgroup_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    design.shared_bytes = kStages * kStageBytes;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
