// Implicit GEMM, rung 01: the loops over c, r and s become one, and a block shares tiles of both operands.
//
//   y [K, N*P*Q] = w [K, C*R*S] x im2col(x) [C*R*S, N*P*Q]
//
// A 16 x 16 block computes 16 filters x 16 columns; a step of 16 taps is loaded once and read 16 times. The
// im2col matrix is computed when it is read, S. Chetlur et al., "cuDNN: efficient primitives for deep
// learning", arXiv:1410.0759 (2014), section 3; "v1" of the HZAU report.
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

constexpr int kTile = 16;

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 16 filters x 16 columns, thread = one output; a warp is 2 filters x 16 columns
// memory      shared: 16 filters x 16 taps and 16 taps x 16 columns, the filters' rows 17 long so that the
//             two filters of a warp lie in different banks
// requires    groups = 1 (RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
__global__ void __launch_bounds__(kTile* kTile)
    conv_implicit_gemm_shared_tile_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ float filters[kTile][kTile + 1];  // [filter][tap]
  __shared__ float inputs[kTile][kTile];       // [tap][column]
  const RungTile tile(shape, kTile, kTile);
  const int row = threadIdx.x / kTile, lane = threadIdx.x % kTile;
  float sum = 0.0f;
  for (int first = 0; first < shape.taps; first += kTile) {
    filters[row][lane] = rung_filter(shape, operands.filters, tile.filter + row, first + lane);
    inputs[row][lane] = rung_im2col(shape, operands.x, first + row, tile.column + lane);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < kTile; ++l) sum = fmaf(filters[row][l], inputs[l][lane], sum);
    __syncthreads();
  }
  rung_store(shape, operands, tile.filter + row, tile.column + lane, sum);
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_01_shared_tile() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "implicit_gemm.01_shared_tile";
    design.kernel_name = "conv_implicit_gemm_shared_tile_kernel";
    design.kernel = &conv_implicit_gemm_shared_tile_kernel;
    design.threads = kTile * kTile;
    design.block_filters = kTile;
    design.block_columns = kTile;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
