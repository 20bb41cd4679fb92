// Implicit GEMM, rung 08: problems without padding run a kernel without checks.
//
// Rung 07 compares the row and column of every input with the edges of the image. Without padding, and with taps that
// fill the last step, no input is outside. For such problems the kernel is compiled a second time, without the checks
// and without the table of rows and columns.
#include "layers/conv/gpu/ladder/implicit_gemm/rung_backend.cuh"

namespace lenslet {
namespace implicit_gemm_ladder {
namespace {

constexpr int kBlock = 128, kStep = 8, kThread = 8, kHalf = kBlock / 2;
constexpr int kThreads = (kBlock / kThread) * (kBlock / kThread);
constexpr int kWarpFilters = 4, kWarpColumns = 8;  // threads of a warp
constexpr int kRows = kStep * kBlock / kThreads;   // taps of its column that a thread loads per step

// computes    y [N, K, P*Q] = w [K, C*R*S] x im2col(x), bias, optional ReLU
// work split  block = 128 filters x 128 columns, thread = 8 x 8: rows and columns 4 + 4, 64 apart
// memory      shared: 8 taps x 128 filters and 8 taps x 128 columns; 64 sums in registers
// requires    groups = 1; unless kChecked no padding and C*R*S a multiple of 8 (all by RungBackend)
// measured    H200, mb8ic32ih64oc128oh62kh3 and others: docs/results.md, "The ladder of implicit GEMM"
//             (docs/results/2026-11-30-h200/ladder-implicit_gemm.json)
template <bool kChecked>
__global__ void __launch_bounds__(kThreads)
    conv_implicit_gemm_unchecked_kernel(const RungShape shape, const RungOperands operands) {
  __shared__ float filters[kStep][kBlock];  // [tap][filter]
  __shared__ float inputs[kStep][kBlock];   // [tap][column]
  const RungTile tile(shape, kBlock, kBlock);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int kWarpsAcross = kHalf / 4 / kWarpColumns;
  const int filter = (warp / kWarpsAcross * kWarpFilters + lane / kWarpColumns) * 4;
  const int column = (warp % kWarpsAcross * kWarpColumns + lane % kWarpColumns) * 4;

  const int load_column = threadIdx.x % kBlock, load_tap = threadIdx.x / kBlock * kRows;
  const RungWindow window(shape, tile.column + load_column);
  constexpr int kRowVectors = kBlock / 4;
  const float* next_filters = operands.filters +
                              static_cast<int64_t>(threadIdx.x / kRowVectors) * shape.pitch + tile.filter +
                              threadIdx.x % kRowVectors * 4;
  float sums[kThread][kThread] = {};
  for (int step = 0; step < shape.steps; ++step) {
    reinterpret_cast<float4*>(&filters[0][0])[threadIdx.x] = *reinterpret_cast<const float4*>(next_filters);
    next_filters += static_cast<int64_t>(kStep) * shape.pitch;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int tap = step * kStep + load_tap + i;
      const bool inside = !kChecked || window.holds(shape, operands.shifts[tap]);
      inputs[load_tap + i][load_column] = inside ? operands.x[window.corner + operands.offsets[tap]] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < kStep; ++l) {
      float a[kThread], b[kThread];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(&a[4 * half]) =
            *reinterpret_cast<const float4*>(&filters[l][filter + half * kHalf]);
        *reinterpret_cast<float4*>(&b[4 * half]) =
            *reinterpret_cast<const float4*>(&inputs[l][column + half * kHalf]);
      }
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
    const int row = tile.filter + filter + i / 4 * kHalf + i % 4;
    rung_store_four(shape, operands, row, tile.column + column, &sums[i][0]);
    rung_store_four(shape, operands, row, tile.column + column + kHalf, &sums[i][4]);
  }
}

}  // namespace
}  // namespace implicit_gemm_ladder

namespace conv_rungs {
const ConvBackend& implicit_gemm_08_unchecked() {
  using namespace implicit_gemm_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "implicit_gemm.08_unchecked";
    design.kernel_name = "conv_implicit_gemm_unchecked_kernel";
    design.kernel = &conv_implicit_gemm_unchecked_kernel<true>;
    design.whole = &conv_implicit_gemm_unchecked_kernel<false>;
    design.threads = kThreads;
    design.block_filters = kBlock;
    design.block_columns = kBlock;
    design.step = kStep;
    design.packs_filters = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
