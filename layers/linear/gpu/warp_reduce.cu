// Linear on the GPU for small batches: y[n, o] = f(b[o] + sum over i of x[n, i] * w[o, i]), one warp a sum.
// x [N, I], w [O, I], y [N, O], f = ReLU or nothing. The arrangement is this project's own.
//
// With few samples the layer is bound by reading the weights and by latency. A warp reads one row of w with 16-byte
// loads, each lane sums its part, and a butterfly of shuffles adds the lanes' sums. A warp computes up to four samples
// at once, so that a row of w is read once for all. Their four butterflies are merged (each step halves the values that
// a lane keeps), which takes 6 shuffles instead of 20.
#include "framework/base/alignment.h"
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/keep_nan.h"
#include "layers/linear/linear_parameters.h"

namespace lenslet {
namespace {

// Per block: eight neighbouring outputs of the same samples, which share inputs through L1.
constexpr int kWarps = 8;
constexpr int64_t kMaxOutputs = int64_t{kWarps} * GpuLimits::kGridYZ;

template <int kRows, int kWidth>
__device__ __forceinline__ void add_products(float (&sum)[kRows], const float* __restrict__ x,
                                             const float* __restrict__ w, int64_t inputs, int64_t i,
                                             int rows) {
  if (kWidth == 4) {
    const float4 weight = __ldg(reinterpret_cast<const float4*>(w + i));
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows) {
        const float4 value = __ldg(reinterpret_cast<const float4*>(x + r * inputs + i));
        sum[r] = fmaf(value.x, weight.x, sum[r]);
        sum[r] = fmaf(value.y, weight.y, sum[r]);
        sum[r] = fmaf(value.z, weight.z, sum[r]);
        sum[r] = fmaf(value.w, weight.w, sum[r]);
      }
    }
  } else {
    const float weight = __ldg(w + i);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows) sum[r] = fmaf(__ldg(x + r * inputs + i), weight, sum[r]);
    }
  }
}

// computes    y[n, o] for all n, o
// work split  grid.x = groups of kRows samples, grid.y * 8 warps = outputs; a warp computes kRows sums of one output,
//             its lanes split i
// memory      no shared memory; kRows sums per lane
// requires    kRows 1 or 4; kWidth 4 only if inputs is a multiple of 4 and x, w are aligned to 16 bytes
//             (WarpReduceOperator::run chooses; w is a tensor of its own)
// measured    H100, hot: LeNet's fc1 / fc2 / fc3, batch 1: 4.03 / 3.68 / 3.68 us
//             (docs/results/2026-11-27-h100/profile-batch-1.json)
template <int kRows, int kWidth>
__global__ void __launch_bounds__(GpuLimits::kWarp* kWarps)
    linear_warp_reduce_kernel(const float* __restrict__ x,     // [batch, inputs]
                              const float* __restrict__ w,     // [outputs, inputs]
                              const float* __restrict__ bias,  // [outputs]
                              float* __restrict__ y,           // [batch, outputs]
                              int64_t batch, int64_t inputs, int64_t outputs, bool relu) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t output = static_cast<int64_t>(blockIdx.y) * kWarps + threadIdx.y;
  if (output >= outputs) return;  // the same for all lanes of a warp
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows;
  const int rows = static_cast<int>(min(static_cast<int64_t>(kRows), batch - row));
  x += row * inputs;
  w += output * inputs;

  float sum[kRows] = {};
  for (int64_t i = lane * kWidth; i < inputs; i += GpuLimits::kWarp * kWidth) {
    add_products<kRows, kWidth>(sum, x, w, inputs, i, rows);
  }

  float total = sum[0];
  int mine = 0;  // the sample whose sum this lane has at the end
  if (kRows == 4) {
    // Lanes 16 apart swap: the upper half keeps samples 2 and 3, the lower half 0 and 1; then lanes 8 apart likewise.
    const bool upper = (lane & 16) != 0, odd = (lane & 8) != 0;
    const float first =
        (upper ? sum[2 % kRows] : sum[0]) + __shfl_xor_sync(kAllLanes, upper ? sum[0] : sum[2 % kRows], 16);
    const float second = (upper ? sum[3 % kRows] : sum[1 % kRows]) +
                         __shfl_xor_sync(kAllLanes, upper ? sum[1 % kRows] : sum[3 % kRows], 16);
    total = (odd ? second : first) + __shfl_xor_sync(kAllLanes, odd ? first : second, 8);
    mine = (upper ? 2 : 0) + (odd ? 1 : 0);
  } else {
    total += __shfl_xor_sync(kAllLanes, total, 16);
    total += __shfl_xor_sync(kAllLanes, total, 8);
  }
  total += __shfl_xor_sync(kAllLanes, total, 4);
  total += __shfl_xor_sync(kAllLanes, total, 2);
  total += __shfl_xor_sync(kAllLanes, total, 1);

  const bool writes = kRows == 4 ? lane % 8 == 0 && mine < rows : lane == 0;
  if (writes) {
    if (bias) total += bias[output];
    // The comparison is false for NaN, so NaN is kept.
    y[(row + mine) * outputs + output] = relu_if(relu, total);
  }
}

class WarpReduceOperator : public Operator {
 public:
  WarpReduceOperator(const LinearProblem& problem, Stream& stream)
      : problem_(problem), parameters_(problem, stream) {}

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const float* x = inputs[0].data;
    const bool wide = problem_.inputs % 4 == 0 && is_aligned(x, sizeof(float4));
    const auto kernel = problem_.batch == 1
                            ? (wide ? linear_warp_reduce_kernel<1, 4> : linear_warp_reduce_kernel<1, 1>)
                            : (wide ? linear_warp_reduce_kernel<4, 4> : linear_warp_reduce_kernel<4, 1>);
    const int64_t rows = problem_.batch == 1 ? 1 : 4;
    const dim3 grid(grid_blocks(problem_.batch, rows), grid_blocks(problem_.outputs, kWarps));
    launch("linear_warp_reduce_kernel", kernel, grid, dim3(GpuLimits::kWarp, kWarps), 0,
           native(context.stream), x, parameters_.weights.data(), parameters_.bias.data(), output.data,
           problem_.batch, problem_.inputs, problem_.outputs, problem_.relu);
  }

 private:
  LinearProblem problem_;
  LinearParameters parameters_;
};

class WarpReduceBackend : public LinearBackend {
 public:
  Support supports(const LinearProblem& problem) const override {
    return own_linear_limits("warp_reduce", problem, kMaxOutputs);
  }

 private:
  std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& stream) const override {
    return std::make_unique<WarpReduceOperator>(problem, stream);
  }
};

}  // namespace

LENSLET_BACKEND(linear, gpu_warp_reduce, WarpReduceBackend())

}  // namespace lenslet
