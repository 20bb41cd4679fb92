// Implicit GEMM, rung 03: 4 x 4 outputs per thread, as outer products; a block covers 64 x 64.
//
// With one output per thread each multiply-add needs two floats from shared memory. Four filters times four columns
// need eight floats for sixteen multiply-adds. V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear
// algebra", SC 2008; "v3" of the HZAU report.
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

constexpr int kBlock = 64, kStep = 16, kThread = 4;
constexpr int kThreads = (kBlock / kThread) * (kBlock / kThread);
constexpr int kWarpFilters = 4, kWarpColumns = 8;  // threads of a warp

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 64 filters x 64 columns, warp = 16 x 32, thread = 4 x 4
// memory      shared: 16 taps x 64 filters (rows of 68: stores of one filter's taps fall on different banks,
//             loads stay 16-byte aligned) and 16 taps x 64 columns; 16 sums in registers
// requires    groups = 1 (RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
__global__ void __launch_bounds__(kThreads)
    conv_implicit_gemm_thread_tile_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ float filters[kStep][kBlock + 4];  // [tap][filter]
  __shared__ float inputs[kStep][kBlock];       // [tap][column]
  const RungTile tile(shape, kBlock, kBlock);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int kWarpsAcross = kBlock / kThread / kWarpColumns;
  const int filter = (warp / kWarpsAcross * kWarpFilters + lane / kWarpColumns) * kThread;
  const int column = (warp % kWarpsAcross * kWarpColumns + lane % kWarpColumns) * kThread;
  float sums[kThread][kThread] = {};
  for (int first = 0; first < shape.taps; first += kStep) {
    for (int i = threadIdx.x; i < kStep * kBlock; i += kThreads) {
      filters[i % kStep][i / kStep] =
          rung_filter(shape, operands.filters, tile.filter + i / kStep, first + i % kStep);
      inputs[i / kBlock][i % kBlock] =
          rung_im2col(shape, operands.x, first + i / kBlock, tile.column + i % kBlock);
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < kStep; ++l) {
      float a[kThread], b[kThread];
      *reinterpret_cast<float4*>(a) = *reinterpret_cast<const float4*>(&filters[l][filter]);
      *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(&inputs[l][column]);
#pragma unroll
      for (int i = 0; i < kThread; ++i) {
#pragma unroll
        for (int j = 0; j < kThread; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kThread; ++i) {
    rung_store_four(shape, operands, tile.filter + filter + i, tile.column + column, sums[i]);
  }
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_03_thread_tile() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "implicit_gemm.03_thread_tile";
    design.kernel_name = "conv_implicit_gemm_thread_tile_kernel";
    design.kernel = &conv_implicit_gemm_thread_tile_kernel;
    design.threads = kThreads;
    design.block_filters = kBlock;
    design.block_columns = kBlock;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
