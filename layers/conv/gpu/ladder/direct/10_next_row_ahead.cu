// Direct convolution, rung 10: the next input row is loaded before this one is worked on; at stride 2 the next two are.
//
// In rung 09 the arithmetic of a row waits for the loads of the same row. Here they were issued one output row earlier,
// so that they arrive during that row's multiply-adds. This costs registers for the loads in flight: five values
// per channel and input row.
#include "layers/conv/gpu/ladder/direct/rolling_rows.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, stride 1 or 2, padding 1, bias, optional ReLU
// work split  block = 4 warps on top of each other, warp = 32 rows of all K filters over 128 input columns, lane = 4
//             input columns: 4 / kStride outputs of a row
// memory      none shared: inputs as float4, neighbours' columns by shuffle; filters and biases in constant memory;
//             registers: the sums of three output rows (stride 2: of one), a row of inputs and the next ones
// requires    K and stride as compiled, W a multiple of 4, groups = 1 (supports_rolling_rows, RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <int K, int kStride>
__global__ void __launch_bounds__(kRollingThreads, kRollingBlocks)
    conv_direct_next_row_ahead_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                      const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  walk_ahead<K>(bank, shape, block, RollingLane<kStride>(shape, block, x, kRollingRows), y);
}

template <int K>
BankLaunch<SmallBank>::Function of_stride(int stride) {
  return stride == 1 ? &conv_direct_next_row_ahead_kernel<K, 1> : &conv_direct_next_row_ahead_kernel<K, 2>;
}

RungKernels choose(const Conv2dProblem& problem) {
  RungKernels kernels;
  kernels.small = problem.k == 1 ? of_stride<1>(problem.stride_h) : of_stride<kMaxFilters>(problem.stride_h);
  return kernels;
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_10_next_row_ahead() {
  using namespace direct_ladder;
  static const RungBackend backend(
      rolling_rows_design("direct.10_next_row_ahead", "conv_direct_next_row_ahead_kernel", &choose));
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
