// Direct convolution, rung 12: each warp has its own strip of the image, whose heights differ by at most one row.
//
// In rung 11 a block's four warps stand on top of each other, so that the number of strips of an image is a multiple of
// four, and the last strips may have fewer rows than the others, or none. Here strips are counted by warps; those of a
// block may lie side by side, on top of each other, or in two images.
#include "layers/conv/gpu/ladder/direct/rolling_rows.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, stride 1 or 2, padding 1, bias, optional ReLU
// work split  block = 4 warps, warp = one strip: a number of rows of all K filters over 128 input columns, lane = 4
//             input columns: 4 / kStride outputs of a row
// memory      none shared: inputs as float4, neighbours' columns by shuffle; filters and biases in constant memory;
//             registers: the sums of three output rows (stride 2: of one), a row of inputs and the next ones
// requires    K and stride as compiled, W a multiple of 4, groups = 1 (supports_rolling_rows, RungBackend)
// measured    H200, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-30-h200/ladder.json)
template <int K, int kStride>
__global__ void __launch_bounds__(kRollingThreads, kRollingBlocks)
    conv_direct_own_strips_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                  const float* __restrict__ x, float* __restrict__ y) {
  const WarpStrip strip(shape);
  if (strip.n >= shape.n) return;
  walk_ahead<K>(bank, shape, strip, RollingLane<kStride>(shape, strip, x, strip.p, strip.p_end), y);
}

template <int K>
BankLaunch<SmallBank>::Function of_stride(int stride) {
  return stride == 1 ? &conv_direct_own_strips_kernel<K, 1> : &conv_direct_own_strips_kernel<K, 2>;
}

RungKernels choose(const Conv2dProblem& problem) {
  RungKernels kernels;
  kernels.small = problem.k == 1 ? of_stride<1>(problem.stride_h) : of_stride<kMaxFilters>(problem.stride_h);
  return kernels;
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_12_own_strips() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design = rolling_rows_design("direct.12_own_strips", "conv_direct_own_strips_kernel", &choose);
    design.fills_gpu = true;
    design.own_strips = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
