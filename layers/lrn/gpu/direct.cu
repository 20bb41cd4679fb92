// Local response normalisation on the GPU, a thread per output:
//   y[n, c, i] = x[n, c, i] / (bias + scale * sum over k of x[n, k, i]^2)^beta, k = c - before to c + after within C
//   x, y [samples, channels, inner]
// A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet classification with deep convolutional neural networks", NIPS
// 2012, section 3.3.
#include "framework/device/kernel_launch.cuh"
#include "layers/lrn/lrn_backend.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y = x / (bias + scale * sum of x^2 over a window of channels)^beta for x [samples, channels, inner]
// work split  a thread computes one output, in a grid-stride loop; neighbouring threads take neighbouring positions
// memory      no shared memory; the windows of neighbouring channels share values through L2
// requires    nothing
// measured    H200, hot: 256 x 16 planes of 56 x 56: 141.2 us
//             (docs/results/2026-11-28-h200/layers.json)
__global__ void __launch_bounds__(kThreads)
    lrn_direct_kernel(const float* __restrict__ x,  // [samples, channels, inner]
                      float* __restrict__ y,        // [samples, channels, inner]
                      const LrnProblem problem) {
  const int64_t inner = problem.inner, count = problem.samples * problem.channels * inner;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t c = i / inner % problem.channels;
    const int64_t first = c > problem.before ? c - problem.before : 0;
    const int64_t end = min(c + problem.after + 1, problem.channels);
    float sum = 0;
    for (int64_t k = first; k < end; ++k) {
      const float value = x[i + (k - c) * inner];
      sum += value * value;
    }
    y[i] = x[i] / powf(problem.bias + problem.scale * sum, problem.beta);
  }
}

void lrn_direct(const LrnProblem& problem, const float* x, float* y, Stream& stream) {
  const int64_t count = problem.samples * problem.channels * problem.inner;
  if (count == 0) return;
  launch("lrn_direct_kernel", lrn_direct_kernel, grid_blocks(count, kThreads), kThreads, 0, native(stream), x,
         y, problem);
}

}  // namespace

LENSLET_BACKEND(lrn, gpu_direct, LrnBackend{&lrn_direct})

}  // namespace lenslet
