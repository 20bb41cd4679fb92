// Tensor cores, rung 02: the products are mma.sync, whose operands are registers.
//
// wmma hides which lane holds which element, so rung 01 loads whole fragments from memory and stores sums through it.
// mma.sync states the layout: a lane reads its elements itself, and neighbouring lanes exchange sums for the stores.
// The rungs that follow need that: they round between memory and product, and read rows in another order. mma.sync also
// has a depth of 8 in one instruction. wmma of 16 x 16 x 8 becomes instructions of depth 4, twice as many, and loads by
// generic addresses. PTX ISA, "Matrix fragments for mma.m16n8k8".
#include "framework/instructions/mma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

constexpr int kThreads = 256, kBlock = 128;            // positions and filters of a block
constexpr int kWarpPositions = 32, kWarpFilters = 64;  // 4 x 2 warps
constexpr int kRows = kWarpPositions / 16, kColumns = kWarpFilters / 8;

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 128 positions x 128 filters, warp = 32 x 64 in products of 16 x 8 x 8
// memory      shared: 128 positions and 128 filters x 32 channels; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_mma_sync_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ __align__(16) uint32_t inputs[kBlock][kStep], filters[kBlock][kStep];
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlock, kBlock);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int first_row = warp / 2 * kWarpPositions, first_column = warp % 2 * kWarpFilters;
  const int g = lane / 4, t = lane % 4;  // the lane's row of A and column of B; its channel of both

  using Rows = RungRows<kBlock, kThreads>;
  const int copied = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  const Rows rows(shape, tile.position + copied, piece);
  const auto* next_filters = reinterpret_cast<const uint4*>(operands.filters) +
                             int64_t{tile.filter_tile} * shape.steps * kBlock * kPieces + threadIdx.x;

  float sums[kRows][kColumns][4] = {};
  RungTap tap;
  for (int step = 0; step < shape.steps; ++step) {
#pragma unroll
    for (int i = 0; i < Rows::kCount; ++i) {
      bool inside;
      const float* source = rows.piece(shape, operands.x, tap, i, inside);
      const float4 four = inside ? __ldg(reinterpret_cast<const float4*>(source)) : make_float4(0, 0, 0, 0);
      *reinterpret_cast<uint4*>(&inputs[copied + i * Rows::kApart][piece * kPiece]) =
          make_uint4(round_to_nearest_tf32(four.x), round_to_nearest_tf32(four.y),
                     round_to_nearest_tf32(four.z), round_to_nearest_tf32(four.w));
      *reinterpret_cast<uint4*>(&filters[copied + i * Rows::kApart][piece * kPiece]) =
          __ldg(next_filters + i * kThreads);
    }
    next_filters += kBlock * kPieces;
    tap.advance(shape);
    __syncthreads();
#pragma unroll
    for (int channel = 0; channel < kStep; channel += 8) {
      const int c = channel + t;
      uint4 a[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int row = first_row + i * 16 + g;
        a[i] = make_uint4(inputs[row][c], inputs[row + 8][c], inputs[row][c + 4], inputs[row + 8][c + 4]);
      }
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int column = first_column + j * 8 + g;
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          multiply_tf32(sums[i][j], a[i], filters[column][c], filters[column][c + 4], sums[i][j]);
      }
    }
    __syncthreads();  // until no warp reads this step
  }
  rung_store_fragments(shape, operands, tile.position + first_row, tile.filter + first_column, sums);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_02_mma_sync() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.02_mma_sync";
    design.kernel_name = "conv_tensor_core_mma_sync_kernel";
    design.kernel = &conv_tensor_core_mma_sync_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
