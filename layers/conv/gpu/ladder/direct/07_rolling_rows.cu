// Direct convolution, rung 07: no shared memory; a warp walks down the image and reads each input row once.
//
// Shared memory costs a write, a read and two barriers for each input, and a thread that waits at a barrier issues no
// loads. Here lanes get neighbouring columns by shuffle. Each input row is used at once for the three output rows that
// need it, whose sums roll in registers. P. Micikevicius, "3D finite difference computation on GPUs using CUDA",
// GPGPU-2 (2009), section 4.1.
#include "framework/instructions/warp.cuh"
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kRows = 32, kChannels = kRgbChannels;

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, stride 1, padding 1, bias, optional ReLU
// work split  block = 4 warps on top of each other, warp = kRows rows x 128 columns of all K filters, lane = 4 columns
// memory      none shared: inputs as float4, neighbours' columns by shuffle; filters and biases in constant memory;
//             registers: three rows of 4*K sums
// requires    C and K as compiled, W a multiple of 4, groups = 1 (supports_rolling_rows, RungBackend)
// measured    H100, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-27-h100/ladder.json)
template <int K>
__global__ void __launch_bounds__(128)
    conv_direct_rolling_rows_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                    const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  const int lane = threadIdx.x, q0 = block.q + lane * kColumns, p0 = block.p + threadIdx.y * kRows;
  const int p_end = min(p0 + kRows, shape.p);
  // For the first and the last lane, which have no neighbour there.
  const int beside = lane == 0 ? q0 - 1 : q0 + kColumns;
  const bool reads_beside = lane == 0 || lane == 31;
  // Sums of output rows h - 1 (gets its last input row), h and h + 1 (its first one), h being the input row.
  float last[K][kColumns], middle[K][kColumns], first[K][kColumns];
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      last[k][j] = middle[k][j] = first[k][j] = bank.values[K * kChannels * 9 + k];
    }
  }
#pragma unroll 1
  for (int h = p0 - 1; h <= p_end; ++h) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const float* row = x + ((static_cast<int64_t>(block.n) * kChannels + c) * shape.h + h) * shape.w;
      const bool inside = h >= 0 && h < shape.h && q0 < shape.w;
      const float4 own = inside ? __ldg(reinterpret_cast<const float4*>(row + q0)) : make_float4(0, 0, 0, 0);
      const float edge = reads_beside ? rung_input(shape, x, block.n, c, h, beside) : 0.0f;
      const float left = __shfl_up_sync(kAllLanes, own.w, 1), right = __shfl_down_sync(kAllLanes, own.x, 1);
      const float in[6] = {lane == 0 ? edge : left, own.x, own.y, own.z, own.w, lane == 31 ? edge : right};
#pragma unroll
      for (int s = 0; s < 3; ++s) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
          const float* weights = bank.values + (k * kChannels + c) * 9 + s;
#pragma unroll
          for (int j = 0; j < kColumns; ++j) {
            last[k][j] = fmaf(weights[6], in[j + s], last[k][j]);
            middle[k][j] = fmaf(weights[3], in[j + s], middle[k][j]);
            first[k][j] = fmaf(weights[0], in[j + s], first[k][j]);
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (h > p0) rung_store_four(shape, y, block.n, k, h - 1, q0, last[k]);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        last[k][j] = middle[k][j];
        middle[k][j] = first[k][j];
        first[k][j] = bank.values[K * kChannels * 9 + k];
      }
    }
  }
}

RungKernels choose(const Conv2dProblem& problem) {
  RungKernels kernels;
  kernels.small = problem.k == 1 ? &conv_direct_rolling_rows_kernel<1> : &conv_direct_rolling_rows_kernel<3>;
  return kernels;
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_07_rolling_rows() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.07_rolling_rows";
    design.kernel_name = "conv_direct_rolling_rows_kernel";
    design.supports = &supports_rolling_rows;
    design.kernels = &choose;
    design.columns = kColumns;
    design.rows = kRows;
    design.filters = kChannels;
    design.threads_y = 4;
    design.whole_warps = true;
    return design;
  }());
  return backend;
}
}  // namespace conv_rungs
}  // namespace lenslet
