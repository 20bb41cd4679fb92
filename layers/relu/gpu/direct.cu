// ReLU on the GPU: y[i] = max(x[i], 0). Bound by memory bandwidth: one read and one write of each value.
#include <cuda_runtime.h>

#include <algorithm>

#include "framework/device/cuda_check.h"
#include "framework/tensor/keep_nan.h"
#include "layers/relu/relu_backend.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y = max(x, 0), count values
// work split  a thread computes one float4 of the whole quads; the first threads also compute the up to 3 remaining
//             values
// memory      no shared memory; works in place, since a thread reads only the elements that it writes
// requires    x and y aligned to 16 bytes unless quads is 0 (relu_direct() checks)
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

void relu_direct(const float* x, float* y, int64_t count, Stream& stream) {
  if (count == 0) return;
  const bool aligned = (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % 16 == 0;
  const int64_t quads = aligned ? count / 4 : 0;
  const int64_t threads = aligned ? std::max<int64_t>(quads, 4) : count;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>((threads + kThreads - 1) / kThreads, INT32_MAX));
  relu_direct_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream.native_handle())>>>(x, y, quads,
                                                                                                 count);
  LENSLET_CUDA_CHECK_LAUNCH("relu_direct_kernel");
}

}  // namespace

LENSLET_BACKEND(relu, gpu_direct, ReluBackend{&relu_direct})

}  // namespace lenslet
