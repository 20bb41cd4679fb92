// Softmax and its logarithm on the GPU, x and y [outer, classes, inner], along the classes c:
//
//   m = max over c of x[c],  s = sum over c of exp(x[c] - m)
//   y[c] = exp(x[c] - m) / s, or with `logarithms` y[c] = x[c] - m - log(s)
//
// After ONNX's operators Softmax and LogSoftmax. Each row is computed by the threads of one group if its values are
// neighbours, else by one thread.
#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/keep_nan.h"
#include "layers/softmax/softmax_backend.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;
// One warp computes a row up to this length, 32 values a lane; a block computes a longer one. Chosen by hand: up to it
// a thread of a block would have at most 4 values for the four barriers of its two reductions; a warp needs none.
constexpr int64_t kWarpClasses = 1024;

template <bool kMax>
__device__ __forceinline__ float combine(float a, float b) {
  return kMax ? larger(a, b) : a + b;
}

// Combines one value of each thread of the group and returns the result to every thread. `partial` has one value per
// warp.
template <int kGroup, bool kMax>
__device__ float reduce(float value, float* partial) {
  for (int offset = GpuLimits::kWarp / 2; offset > 0; offset /= 2) {
    value = combine<kMax>(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  if (kGroup > GpuLimits::kWarp) {
    __syncthreads();  // until all threads have read the values of the previous reduction
    if (threadIdx.x % GpuLimits::kWarp == 0) partial[threadIdx.x / GpuLimits::kWarp] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < kGroup / GpuLimits::kWarp; ++warp) value = combine<kMax>(value, partial[warp]);
  }
  return value;
}

// computes    softmax of each row of x [rows, classes]
// work split  a group of kGroup threads per row, in a grid-stride loop; neighbouring threads take neighbouring classes
// memory      one float per warp, if the group is a block
// requires    kGroup 32 or kThreads (run() launches no other)
// measured    H200, hot: 256 x 16 x 28 rows of 28 classes: 27.0 us
//             (docs/results/2026-11-28-h200/layers.json)
template <int kGroup>
__global__ void __launch_bounds__(kThreads)
    softmax_direct_kernel(const float* __restrict__ x,  // [rows, classes]
                          float* __restrict__ y,        // [rows, classes]
                          int64_t rows, int64_t classes, bool logarithms) {
  __shared__ float partial[kThreads / GpuLimits::kWarp];
  constexpr int kGroups = kThreads / kGroup;  // in a block
  const int lane = threadIdx.x % kGroup;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kGroups + threadIdx.x / kGroup; row < rows;
       row += static_cast<int64_t>(gridDim.x) * kGroups) {
    const float* in = x + row * classes;
    float* out = y + row * classes;
    float max_value = -INFINITY;
    for (int64_t i = lane; i < classes; i += kGroup) max_value = larger(max_value, in[i]);
    max_value = reduce<kGroup, true>(max_value, partial);
    float sum = 0;
    for (int64_t i = lane; i < classes; i += kGroup) sum += expf(in[i] - max_value);
    sum = reduce<kGroup, false>(sum, partial);
    if (logarithms) {
      const float log_sum = logf(sum);
      for (int64_t i = lane; i < classes; i += kGroup) out[i] = in[i] - max_value - log_sum;
    } else {
      for (int64_t i = lane; i < classes; i += kGroup) out[i] = expf(in[i] - max_value) / sum;
    }
  }
}

// computes    softmax over the middle dimension of x [outer, classes, inner]
// work split  a thread per row, in a grid-stride loop; neighbouring threads take neighbouring rows, so that their
//             accesses coalesce
// memory      no shared memory; x is read three times
// requires    nothing
// measured    H200, hot: 256 samples, 16 classes at 58 x 58 places: 43.2 us
//             (docs/results/2026-11-28-h200/layers.json)
__global__ void __launch_bounds__(kThreads)
    softmax_direct_columns_kernel(const float* __restrict__ x,  // [outer, classes, inner]
                                  float* __restrict__ y,        // [outer, classes, inner]
                                  const SoftmaxProblem problem) {
  const int64_t rows = problem.outer * problem.inner, inner = problem.inner;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; row < rows;
       row += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t first = row / inner * problem.classes * inner + row % inner;
    const float* in = x + first;
    float* out = y + first;
    float max_value = -INFINITY;
    for (int64_t i = 0; i < problem.classes; ++i) max_value = larger(max_value, in[i * inner]);
    float sum = 0;
    for (int64_t i = 0; i < problem.classes; ++i) sum += expf(in[i * inner] - max_value);
    const float log_sum = logf(sum);
    for (int64_t i = 0; i < problem.classes; ++i) {
      const float difference = in[i * inner] - max_value;
      out[i * inner] = problem.logarithms ? difference - log_sum : expf(difference) / sum;
    }
  }
}

void softmax_direct(const SoftmaxProblem& problem, const float* x, float* y, Stream& stream) {
  const int64_t rows = problem.outer, classes = problem.classes;
  if (rows * problem.inner == 0) return;
  if (problem.inner > 1) {
    launch("softmax_direct_columns_kernel", softmax_direct_columns_kernel,
           grid_blocks(rows * problem.inner, kThreads), kThreads, 0, native(stream), x, y, problem);
    return;
  }
  const bool by_warps = classes <= kWarpClasses;
  const auto kernel = by_warps ? softmax_direct_kernel<GpuLimits::kWarp> : softmax_direct_kernel<kThreads>;
  launch("softmax_direct_kernel", kernel, grid_blocks(rows, by_warps ? kThreads / GpuLimits::kWarp : 1),
         kThreads, 0, native(stream), x, y, rows, classes, problem.logarithms);
}

}  // namespace

LENSLET_BACKEND(softmax, gpu_direct, SoftmaxBackend{&softmax_direct})

}  // namespace lenslet
