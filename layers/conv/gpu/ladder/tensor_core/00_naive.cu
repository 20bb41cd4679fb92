// Tensor cores, rung 00: a warp multiplies 16 positions by 16 filters with CUDA's wmma.
//
// wmma reads operands from memory in rows of a fixed distance. Filters lie so in global memory; a tap's inputs do not,
// because rows of the image end and padding begins. So each warp gathers 16 positions x 8 channels into its own shared
// memory first, and rounds them. CUDA C++ Programming Guide, "Warp matrix functions".
#include <mma.h>

#include "framework/instructions/mma.cuh"
#include "layers/conv/gpu/ladder/tensor_core/rung_backend.cuh"

namespace lenslet {
namespace tensor_core_ladder {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kSide = 16, kDepth = 8;  // of a product
constexpr int kBlockPositions = kWarps * kSide;

// computes    y [N*P*Q, K] = im2col(x) [N*P*Q, R*S*C] x w [R*S*C, K], tf32 operands, bias, optional ReLU
// work split  block = 64 positions x 16 filters, warp = 16 x 16
// memory      shared: 16 positions x 8 channels a warp, then its sums; filters through L1
// requires    compute capability 9.0, NHWC, C a multiple of 32, K of 4, stride and dilation 1 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/kernels/tensor_core.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder-tensor_core.json)
__global__ void __launch_bounds__(kThreads)
    conv_tensor_core_naive_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ __align__(32) float inputs[kWarps][kSide * kDepth], outputs[kWarps][kSide * kSide];
  const RungTile tile(shape, static_cast<int>(blockIdx.x), kBlockPositions, kSide);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int first = tile.position + warp * kSide;
  const int row = lane / 2, piece = lane % 2;  // what this lane gathers
  const RungRows<kSide, kSide * kPieces> rows(shape, first + row, piece);
  const float* filters = operands.filters + int64_t{tile.filter_tile} * shape.steps * kSide * kStep;

  wmma::fragment<wmma::accumulator, kSide, kSide, kDepth, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  RungTap tap;
  for (int step = 0; step < shape.steps; ++step, filters += kSide * kStep) {
    for (int channel = 0; channel < kStep; channel += kDepth) {
      bool inside;
      const float* source = rows.piece(shape, operands.x, tap, 0, inside);
      const float4 four =
          inside ? __ldg(reinterpret_cast<const float4*>(source + channel)) : make_float4(0, 0, 0, 0);
      __syncwarp();  // until no lane reads the inputs before
      *reinterpret_cast<uint4*>(&inputs[warp][row * kDepth + piece * kPiece]) =
          make_uint4(round_to_nearest_tf32(four.x), round_to_nearest_tf32(four.y),
                     round_to_nearest_tf32(four.z), round_to_nearest_tf32(four.w));
      __syncwarp();
      wmma::fragment<wmma::matrix_a, kSide, kSide, kDepth, wmma::precision::tf32, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, kSide, kSide, kDepth, wmma::precision::tf32, wmma::col_major> b;
      wmma::load_matrix_sync(a, inputs[warp], kDepth);
      wmma::load_matrix_sync(b, filters + channel, kStep);
      wmma::mma_sync(sums, a, b, sums);
    }
    tap.advance(shape);
  }

  wmma::store_matrix_sync(outputs[warp], sums, kSide, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < kSide * kSide / 4; i += 32) {
    rung_store(shape, operands, first + i / 4, tile.filter + i % 4 * 4,
               *reinterpret_cast<const float4*>(&outputs[warp][i * 4]));
  }
}

}  // namespace
}  // namespace tensor_core_ladder

namespace conv_rungs {
const ConvBackend& tensor_core_00_naive() {
  using namespace tensor_core_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "tensor_core.00_naive";
    design.kernel_name = "conv_tensor_core_naive_kernel";
    design.kernel = &conv_tensor_core_naive_kernel;
    design.threads = kThreads;
    design.block_positions = kBlockPositions;
    design.block_filters = kSide;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
