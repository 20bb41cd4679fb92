// Tensor cores, rung 01: a block of 128 positions x 128 filters shares its operands in shared memory.
//
// Rung 00 fetches each operand for one product of 16 x 16. Here a block stages a step's operands once for all of its
// warps, and a warp uses a fragment for two or four products. Inputs are rounded once, as they are stored. The products
// are still those of wmma. It reads rows of 128 bytes, all banks of shared memory, so that rows meet in their banks.
#include <mma.h>

#include "framework/instructions/mma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kThreads = 256, kWarps = kThreads / 32, kBlock = 128;  // positions and filters of a block
constexpr int kWarpPositions = 32, kWarpFilters = 64;                // 4 x 2 warps
constexpr int kSide = 16, kDepth = 8;                                // of a product
constexpr int kRows = kWarpPositions / kSide, kColumns = kWarpFilters / kSide;

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 128 positions x 128 filters, warp = 32 x 64 in products of 16 x 16 x 8
// memory      shared: 128 positions and 128 filters x 32 channels, and 16 x 16 sums for each warp; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_shared_tiles_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ __align__(32) float inputs[kBlock][kStep], filters[kBlock][kStep];
  __shared__ __align__(32) float outputs[kWarps][kSide * kSide];
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlock, kBlock);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int first_row = warp / 2 * kWarpPositions, first_column = warp % 2 * kWarpFilters;

  using Rows = RungRows<kBlock, kThreads>;
  const int copied = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  const Rows rows(shape, tile.position + copied, piece);
  const auto* next_filters = reinterpret_cast<const uint4*>(operands.filters) +
                             int64_t{tile.filter_tile} * shape.steps * kBlock * kPieces + threadIdx.x;

  wmma::fragment<wmma::accumulator, kSide, kSide, kDepth, float> sums[kRows][kColumns];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
  }
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
#pragma unroll 2
    for (int channel = 0; channel < kStep; channel += kDepth) {  // all four at once would spill
      wmma::fragment<wmma::matrix_a, kSide, kSide, kDepth, wmma::precision::tf32, wmma::row_major> a[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        wmma::load_matrix_sync(a[i], &inputs[first_row + i * kSide][channel], kStep);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        wmma::fragment<wmma::matrix_b, kSide, kSide, kDepth, wmma::precision::tf32, wmma::col_major> b;
        wmma::load_matrix_sync(b, &filters[first_column + j * kSide][channel], kStep);
#pragma unroll
        for (int i = 0; i < kRows; ++i) wmma::mma_sync(sums[i][j], a[i], b, sums[i][j]);
      }
    }
    __syncthreads();  // until no warp reads this step
  }

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      wmma::store_matrix_sync(outputs[warp], sums[i][j], kSide, wmma::mem_row_major);
      __syncwarp();
      for (int four = lane; four < kSide * kSide / 4; four += 32) {
        rung_store(shape, operands, tile.position + first_row + i * kSide + four / 4,
                   tile.filter + first_column + j * kSide + four % 4 * 4,
                   *reinterpret_cast<const float4*>(&outputs[warp][four * 4]));
      }
      __syncwarp();  // until no lane reads these sums
    }
  }
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_01_shared_tiles() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.01_shared_tiles";
    design.kernel_name = "conv_tensor_core_shared_tiles_kernel";
    design.kernel = &conv_tensor_core_shared_tiles_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
