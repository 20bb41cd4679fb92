// Direct convolution, rung 08: no shared memory; lanes get neighbouring columns by shuffle.
//
// Shared memory costs a write, a read and two barriers for each input, and a thread that waits at a barrier issues no
// loads. Here a lane loads four columns of the three rows under its windows, as float4, and its neighbours' columns
// come by shuffle. Other warps need the same rows; L1 and L2 answer them.
#include "layers/conv/gpu/ladder/direct/rolling_rows.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, stride 1 or 2, padding 1, bias, optional ReLU
// work split  block = up to 8 warps on top of each other, warp = one row of all K filters over 128 input columns,
//             lane = 4 input columns: 4 / kStride outputs
// memory      none shared: inputs as float4, neighbours' columns by shuffle; filters and biases in constant memory;
//             registers: the sums of an output row, and rows of inputs
// requires    K and stride as compiled, W a multiple of 4, groups = 1 (supports_rolling_rows, RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <int K, int kStride>
__global__ void __launch_bounds__(256)
    conv_direct_shuffled_columns_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                        const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  const RollingLane<kStride> lane(shape, block, x, 1);
  if (lane.p0 >= shape.p) return;
  const int top = lane.p0 * kStride - 1;
  RollingSums<K, kStride> sums;
  start_rolling<K, kStride>(bank, sums);
  RollingWindow window;
  lane.widen(lane.load(top), window);
  add_rolling<K, kStride, 0>(bank, window, sums);
  lane.widen(lane.load(top + 1), window);
  add_rolling<K, kStride, 1>(bank, window, sums);
  lane.widen(lane.load(top + 2), window);
  add_rolling<K, kStride, 2>(bank, window, sums);
  store_rolling<K, kStride>(shape, block, y, lane.p0, lane, sums);
}

template <int K>
BankLaunch<SmallBank>::Function of_stride(int stride) {
  return stride == 1 ? &conv_direct_shuffled_columns_kernel<K, 1>
                     : &conv_direct_shuffled_columns_kernel<K, 2>;
}

RungKernels choose(const Conv2dProblem& problem) {
  RungKernels kernels;
  kernels.small = problem.k == 1 ? of_stride<1>(problem.stride_h) : of_stride<kMaxFilters>(problem.stride_h);
  return kernels;
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_08_shuffled_columns() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design =
        rolling_rows_design("direct.08_shuffled_columns", "conv_direct_shuffled_columns_kernel", &choose);
    design.rows = 1;
    design.threads_y = 8;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
