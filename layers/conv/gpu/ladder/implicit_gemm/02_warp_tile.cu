// Implicit GEMM, rung 02: a warp covers 4 filters x 8 columns instead of 2 x 16.
//
// In rung 01 a warp reads 2 + 16 different floats per tap. As a tile of 4 x 8 it reads 4 + 8, the minimum for 32
// outputs with power-of-two sides. Not faster: a read takes one pass however few words differ. "v2" of the
// HZAU report.
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

constexpr int kTile = 16;
constexpr int kWarpFilters = 4, kWarpColumns = 8;

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 16 filters x 16 columns, warp = 4 x 8 of them, thread = one output
// memory      shared: 16 filters x 16 taps (rows of 17: a warp's four filters in different banks), 16 taps x
//             16 columns
// requires    groups = 1 (RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
__global__ void __launch_bounds__(kTile* kTile)
    conv_implicit_gemm_warp_tile_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ float filters[kTile][kTile + 1];  // [filter][tap]
  __shared__ float inputs[kTile][kTile];       // [tap][column]
  const RungTile tile(shape, kTile, kTile);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int kWarpsAcross = kTile / kWarpColumns;
  const int filter = warp / kWarpsAcross * kWarpFilters + lane / kWarpColumns;
  const int column = warp % kWarpsAcross * kWarpColumns + lane % kWarpColumns;
  const int load_row = threadIdx.x / kTile, load_lane = threadIdx.x % kTile;
  float sum = 0.0f;
  for (int first = 0; first < shape.taps; first += kTile) {
    filters[load_row][load_lane] =
        rung_filter(shape, operands.filters, tile.filter + load_row, first + load_lane);
    inputs[load_row][load_lane] = rung_im2col(shape, operands.x, first + load_row, tile.column + load_lane);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < kTile; ++l) sum = fmaf(filters[filter][l], inputs[l][column], sum);
    __syncthreads();
  }
  rung_store(shape, operands, tile.filter + filter, tile.column + column, sum);
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_02_warp_tile() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "implicit_gemm.02_warp_tile";
    design.kernel_name = "conv_implicit_gemm_warp_tile_kernel";
    design.kernel = &conv_implicit_gemm_warp_tile_kernel;
    design.threads = kTile * kTile;
    design.block_filters = kTile;
    design.block_columns = kTile;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
