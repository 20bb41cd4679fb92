// Direct convolution, rung 08: the next input row is loaded before this one is worked on.
//
// In rung 07 the arithmetic of a row waits for the loads of the same row. Here they were issued a row earlier, so that
// they arrive during that row's multiply-adds. This costs registers for one more row: five values per channel.
#include "framework/instructions/warp.cuh"
#include "layers/conv/gpu/ladder/direct/rung_backend.cuh"

namespace lenslet {
namespace direct_ladder {
namespace {

constexpr int kColumns = 4, kRows = 32, kChannels = kRgbChannels;

/// One lane's share of an input row: its four columns, and for the first and the last lane the column next to the
/// warp's.
struct RowAhead {
  float4 own[kChannels];
  float edge[kChannels];
};

// computes    y [N, K, P, Q] of x [N, 3, H, W], 3x3 filters, stride 1, padding 1, bias, optional ReLU
// work split  block = 4 warps on top of each other, warp = kRows rows x 128 columns of all K filters, lane = 4 columns
// memory      none shared: inputs as float4, neighbours' columns by shuffle; filters and biases in constant memory;
//             registers: three rows of 4*K sums, a row of inputs and the next one
// requires    C and K as compiled, W a multiple of 4, groups = 1 (supports_rolling_rows, RungBackend)
// measured    H100, mb1ic3ih4096oc3oh4096kh3ph1 and others: docs/kernels/direct.md, "The climb"
//             (docs/results/2026-11-27-h100/ladder.json)
template <int K>
__global__ void __launch_bounds__(128)
    conv_direct_next_row_ahead_kernel(const __grid_constant__ SmallBank bank, const RungShape shape,
                                      const float* __restrict__ x, float* __restrict__ y) {
  const RungBlock block(shape);
  const int lane = threadIdx.x, q0 = block.q + lane * kColumns, p0 = block.p + threadIdx.y * kRows;
  const int p_end = min(p0 + kRows, shape.p);
  // For the first and the last lane, which have no neighbour there.
  const int outer = lane == 0 ? q0 - 1 : q0 + kColumns;
  const bool reads_outer = lane == 0 || lane == 31;
  const auto load = [&](int h) {
    RowAhead row;
    // Nothing beyond row p_end, the last one that this warp's outputs need.
    const bool inside = h >= 0 && h < shape.h && h <= p_end && q0 < shape.w;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const float* source =
          x + ((static_cast<int64_t>(block.n) * kChannels + c) * shape.h + h) * shape.w + q0;
      row.own[c] = inside ? __ldg(reinterpret_cast<const float4*>(source)) : make_float4(0, 0, 0, 0);
      row.edge[c] = inside && reads_outer ? rung_input(shape, x, block.n, c, h, outer) : 0.0f;
    }
    return row;
  };
  // Sums of output rows h - 1 (gets its last input row), h and h + 1 (its first one), h being the input row.
  float last[K][kColumns], middle[K][kColumns], first[K][kColumns];
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      last[k][j] = middle[k][j] = first[k][j] = bank.values[K * kChannels * 9 + k];
    }
  }
  RowAhead next = load(p0 - 1);
#pragma unroll 1
  for (int h = p0 - 1; h <= p_end; ++h) {
    const RowAhead row = next;
    next = load(h + 1);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const float4 own = row.own[c];
      const float left = __shfl_up_sync(kAllLanes, own.w, 1), right = __shfl_down_sync(kAllLanes, own.x, 1);
      const float in[6] = {lane == 0 ? row.edge[c] : left,  own.x, own.y, own.z, own.w,
                           lane == 31 ? row.edge[c] : right};
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
  kernels.small =
      problem.k == 1 ? &conv_direct_next_row_ahead_kernel<1> : &conv_direct_next_row_ahead_kernel<3>;
  return kernels;
}

}  // namespace
}  // namespace direct_ladder

namespace conv_rungs {
const ConvBackend& direct_08_next_row_ahead() {
  using namespace direct_ladder;
  static const RungBackend backend([] {
    RungDesign design;
    design.name = "direct.08_next_row_ahead";
    design.kernel_name = "conv_direct_next_row_ahead_kernel";
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
