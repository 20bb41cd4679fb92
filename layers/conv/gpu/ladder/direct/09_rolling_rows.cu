// Direct convolution, rung 09: a warp walks down the image and reads each input row once.
//
// A warp of rung 08 reads three input rows for one output row, so each row is read for three of them. Here it goes down
// 32 rows. An input row is used at once for the output rows that need it, three at stride 1, whose sums roll in
// registers. P. Micikevicius, "3D finite difference computation on GPUs using CUDA", GPGPU-2 (2009), section 4.1.
#include "layers/conv/gpu/ladder/direct/rolling_rows.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, stride 1 or 2, padding 1, bias, optional ReLU
// work split  block = 4 warps on top of each other, warp = 32 rows of all K filters over 128 input columns, lane = 4
//             input columns: 4 / kStride outputs of a row
// memory      none shared: inputs as float4, neighbours' columns by shuffle; filters and biases in constant memory;
//             registers: the sums of three output rows (stride 2: of one), and a row of inputs
// requires    K and stride as compiled, W a multiple of 4, groups = 1 (supports_rolling_rows, RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <int K, int kStride>
__global__ void __launch_bounds__(kRollingThreads, kRollingBlocks)
    conv_direct_rolling_rows_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                    const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  const RollingLane<kStride> lane(shape, block, x, kRollingRows);
  RollingWindow window;
  if constexpr (kStride == 1) {
    // Sums of output rows h - 1 (gets its last input row), h and h + 1 (its first one), h being the input row.
    RollingSums<K, 1> last, middle, first;
    start_rolling<K, 1>(bank, last);
    start_rolling<K, 1>(bank, middle);
    start_rolling<K, 1>(bank, first);
#pragma unroll 1
    for (int h = lane.p0 - 1; h <= lane.p_end; ++h) {
      lane.widen(lane.load(h), window);
      add_rolling<K, 1, 2>(bank, window, last);
      add_rolling<K, 1, 1>(bank, window, middle);
      add_rolling<K, 1, 0>(bank, window, first);
      if (h > lane.p0) store_rolling<K, 1>(shape, block, y, h - 1, lane, last);
      roll<K, 1>(middle, last);
      roll<K, 1>(first, middle);
      start_rolling<K, 1>(bank, first);
    }
  } else {
    // An odd input row is the last row of one window and the first one of the next.
    RollingSums<K, 2> sums;
    start_rolling<K, 2>(bank, sums);
    lane.widen(lane.load(2 * lane.p0 - 1), window);
    add_rolling<K, 2, 0>(bank, window, sums);
#pragma unroll 1
    for (int p = lane.p0; p < lane.p_end; ++p) {
      lane.widen(lane.load(2 * p), window);
      add_rolling<K, 2, 1>(bank, window, sums);
      lane.widen(lane.load(2 * p + 1), window);
      add_rolling<K, 2, 2>(bank, window, sums);
      store_rolling<K, 2>(shape, block, y, p, lane, sums);
      start_rolling<K, 2>(bank, sums);
      add_rolling<K, 2, 0>(bank, window, sums);
    }
  }
}

template <int K>
BankLaunch<SmallBank>::Function of_stride(int stride) {
  return stride == 1 ? &conv_direct_rolling_rows_kernel<K, 1> : &conv_direct_rolling_rows_kernel<K, 2>;
}

RungKernels choose(const Conv2dProblem& problem) {
  RungKernels kernels;
  kernels.small = problem.k == 1 ? of_stride<1>(problem.stride_h) : of_stride<kMaxFilters>(problem.stride_h);
  return kernels;
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_09_rolling_rows() {
  using namespace direct_ladder;
  static const RungBackend backend(
      rolling_rows_design("direct.09_rolling_rows", "conv_direct_rolling_rows_kernel", &choose));
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
