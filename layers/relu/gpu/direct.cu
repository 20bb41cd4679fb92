// ReLU on the GPU: y[i] = max(x[i], 0). Bound by memory bandwidth: one read and one write of each value.
#include "framework/device/kernel_launch.cuh"
#include "framework/tensor/keep_nan.h"
#include "layers/relu/relu_backend.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y = max(x, 0), count values
// work split  a thread computes one float4 of the whole quads; the first threads also compute the up to 3 remaining
//             values
// memory      no shared memory; works in place, since a thread reads only the elements that it writes
// requires    x and y aligned to 16 bytes unless quads is 0 (QuadLaunch)
// measured    H200, hot: 256 x 16 planes of 56 x 56: 26.7 us
//             (docs/results/2026-11-28-h200/layers.json)
__global__ void __launch_bounds__(kThreads) relu_direct_kernel(const float* x,  // [count]
                                                               float* y,        // [count]
                                                               int64_t quads, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < quads; i += step) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(relu(v.x), relu(v.y), relu(v.z), relu(v.w));
  }
  for (int64_t i = 4 * quads + first; i < count; i += step) y[i] = relu(x[i]);
}

void relu_direct(const ReluProblem& problem, const float* x, float* y, Stream& stream) {
  const int64_t count = problem.count;
  if (count == 0) return;
  const QuadLaunch grid(count, kThreads, {x, y});
  launch("relu_direct_kernel", relu_direct_kernel, grid.blocks, kThreads, 0, native(stream), x, y, grid.quads,
         count);
}

}  // namespace

LENSLET_BACKEND(relu, gpu_direct, ReluBackend{&relu_direct})

}  // namespace lenslet
