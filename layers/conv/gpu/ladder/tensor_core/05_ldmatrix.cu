// Tensor cores, rung 05: operands are read by ldmatrix.
//
// In rung 04 a lane loads each element by an instruction of its own, 24 for 16 products of a warp. ldmatrix reads eight
// rows x 16 bytes, four of them per instruction, in the order of mma.sync's operands: 6 instructions. Rows are swizzled
// as before, so each eight rows take one pass. PTX ISA, "ldmatrix".
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/mma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

constexpr int kThreads = 256, kBlock = 128, kStages = 3;
constexpr int kWarpPositions = 32, kWarpFilters = 64;  // 4 x 2 warps
constexpr int kRows = kWarpPositions / 16, kColumns = kWarpFilters / 8;
constexpr uint32_t kOperandBytes = kBlock * kRowBytes,
                   kStageBytes = 2 * kOperandBytes;  // inputs, then filters

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 128 positions x 128 filters, warp = 32 x 64 in products of 16 x 8 x 8
// memory      shared: three stages of 128 positions and 128 filters x 32 channels, swizzled; registers: 64 sums
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads, 2)
    conv_tensor_core_ldmatrix_kernel(const RungShape shape, const RungOperands operands) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t stages = shared_address(shared);
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlock, kBlock);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int first_row = warp / 2 * kWarpPositions, first_column = warp % 2 * kWarpFilters;

  using Rows = RungRows<kBlock, kThreads>;
  const int copied = static_cast<int>(threadIdx.x) / kPieces, piece = static_cast<int>(threadIdx.x) % kPieces;
  const Rows rows(shape, tile.position + copied, piece);
  const float* next_filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kBlock * kStep +
                              static_cast<int>(threadIdx.x) * kPiece;
  // The rows of a thread are a multiple of eight apart, so that all have the same swizzle.
  const uint32_t target = stages + copied * kRowBytes + (piece ^ (copied % 8)) * 16;
  RungTap tap;
  const auto copy = [&](int step) {
    if (step < shape.steps) {
#pragma unroll
      for (int i = 0; i < Rows::kCount; ++i) {
        bool inside;
        const float* source = rows.piece(shape, operands.x, tap, i, inside);
        const uint32_t at = target + step % kStages * kStageBytes + i * Rows::kApart * kRowBytes;
        copy_async_16_or_zero(at, source, inside);
        copy_async_16(at + kOperandBytes, next_filters + i * kThreads * kPiece);
      }
      next_filters += kBlock * kStep;
      tap.advance(shape);
    }
    commit_copies();
  };

  // Matrices 0 to 3 of an ldmatrix, whose rows lanes 8 i to 8 i + 7 have: of A both rows of four channels, then of the
  // next four; of B eight channels of eight filters, then of the next eight.
  const int row = lane % 8, matrix = lane / 8;
  const uint32_t a_rows = stages + (first_row + matrix % 2 * 8 + row) * kRowBytes,
                 b_rows = stages + kOperandBytes + (first_column + matrix / 2 * 8 + row) * kRowBytes;
  for (int step = 0; step < kStages - 1; ++step) copy(step);
  float sums[kRows][kColumns][4] = {};
  for (int step = 0; step < shape.steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // also until no warp reads the stage that is overwritten
    copy(step + kStages - 1);
    const uint32_t stage = step % kStages * kStageBytes;
#pragma unroll
    for (int p = 0; p < kPieces; p += 2) {  // of the eight channels
      const uint32_t a_piece = stage + ((p + matrix / 2) ^ row) * 16,
                     b_piece = stage + ((p + matrix % 2) ^ row) * 16;
      uint4 a[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const uint4 in = load_matrices(a_rows + a_piece + i * 16 * kRowBytes);
        a[i] = make_uint4(
            round_to_nearest_tf32(__uint_as_float(in.x)), round_to_nearest_tf32(__uint_as_float(in.y)),
            round_to_nearest_tf32(__uint_as_float(in.z)), round_to_nearest_tf32(__uint_as_float(in.w)));
      }
#pragma unroll
      for (int j = 0; j < kColumns; j += 2) {
        const uint4 b = load_matrices(b_rows + b_piece + j * 8 * kRowBytes);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          multiply_tf32(sums[i][j], a[i], b.x, b.y, sums[i][j]);
          multiply_tf32(sums[i][j + 1], a[i], b.z, b.w, sums[i][j + 1]);
        }
      }
    }
  }
  rung_store_fragments(shape, operands, tile.position + first_row, tile.filter + first_column, sums);
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_05_ldmatrix() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.05_ldmatrix";
    design.kernel_name = "conv_tensor_core_ldmatrix_kernel";
    design.kernel = &conv_tensor_core_ldmatrix_kernel;
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
