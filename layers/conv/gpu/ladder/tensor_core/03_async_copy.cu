// Tensor cores, rung 03: asynchronous copies (cp.async) into three stages.
//
// Rung 02 loads a step through registers, and all warps wait for it. cp.async copies without registers, zeros for the
// padding included, and two steps are in flight while one is multiplied. What it copies is not rounded: the warps round
// inputs when they read them from shared memory.
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/mma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

constexpr int kThreads = 256, kBlock = 128, kStages = 3;
constexpr int kWarpPositions = 32, kWarpFilters = 64;  // 4 x 2 warps
constexpr int kRows = kWarpPositions / 16, kColumns = kWarpFilters / 8;

struct Stage {
  float inputs[kBlock][kStep], filters[kBlock][kStep];
};

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 128 positions x 128 filters, warp = 32 x 64 in products of 16 x 8 x 8
// memory      shared: three stages of 128 positions and 128 filters x 32 channels; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_async_copy_kernel(const RungShape shape, const RungOperands operands) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const auto* const stages = reinterpret_cast<const Stage*>(shared);
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlock, kBlock);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int first_row = warp / 2 * kWarpPositions, first_column = warp % 2 * kWarpFilters;
  const int g = lane / 4, t = lane % 4;  // the lane's row of A and column of B; its channel of both

  using Rows = RungRows<kBlock, kThreads>;
  const int copied = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  const Rows rows(shape, tile.position + copied, piece);
  const float* next_filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kBlock * kStep +
                              static_cast<int>(threadIdx.x) * kPiece;
  const uint32_t input_target = shared_address(&stages[0].inputs[copied][piece * kPiece]),
                 filter_target = shared_address(&stages[0].filters[copied][piece * kPiece]);
  RungTap tap;
  const auto copy = [&](int step) {
    if (step < shape.steps) {
      const uint32_t stage = step % kStages * static_cast<uint32_t>(sizeof(Stage));
#pragma unroll
      for (int i = 0; i < Rows::kCount; ++i) {
        bool inside;
        const float* source = rows.piece(shape, operands.x, tap, i, inside);
        const uint32_t at = stage + i * Rows::kApart * kRowBytes;
        copy_async_16_or_zero(input_target + at, source, inside);
        copy_async_16(filter_target + at, next_filters + i * kThreads * kPiece);
      }
      next_filters += kBlock * kStep;
      tap.advance(shape);
    }
    commit_copies();
  };

  for (int step = 0; step < kStages - 1; ++step) copy(step);
  float sums[kRows][kColumns][4] = {};
  for (int step = 0; step < shape.steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // also until no warp reads the stage that is overwritten
    copy(step + kStages - 1);
    const Stage& stage = stages[step % kStages];
#pragma unroll
    for (int channel = 0; channel < kStep; channel += 8) {
      const int c = channel + t;
      uint4 a[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int row = first_row + i * 16 + g;
        a[i] = make_uint4(round_to_nearest_tf32(stage.inputs[row][c]),
                          round_to_nearest_tf32(stage.inputs[row + 8][c]),
                          round_to_nearest_tf32(stage.inputs[row][c + 4]),
                          round_to_nearest_tf32(stage.inputs[row + 8][c + 4]));
      }
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const float* const filter = stage.filters[first_column + j * 8 + g];
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          multiply_tf32(sums[i][j], a[i], __float_as_uint(filter[c]), __float_as_uint(filter[c + 4]),
                        sums[i][j]);
      }
    }
  }
  rung_store_fragments(shape, operands, tile.position + first_row, tile.filter + first_column, sums);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_03_async_copy() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.03_async_copy";
    design.kernel_name = "conv_tensor_core_async_copy_kernel";
    design.kernel = &conv_tensor_core_async_copy_kernel;
    design.threads = kThreads;
    design.block_positions = kBlock;
    design.block_filters = kBlock;
    design.shared_bytes = kStages * sizeof(Stage);
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
