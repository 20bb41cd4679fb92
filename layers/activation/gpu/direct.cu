// Activations on the GPU: y[i] = f(x[i]; a, b), x and y [count]; activation_functions.h has each f. Bound by memory
// bandwidth: one read and one write of each value.
#include <utility>

#include "framework/device/kernel_launch.cuh"
#include "layers/activation/activation_backend.h"
#include "layers/activation/activation_functions.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y = f(x; a, b), count values
// work split  a thread computes one float4 of the whole quads; the first threads also compute the up to 3 remaining
//             values
// memory      no shared memory; works in place, since a thread reads only the elements that it writes
// requires    x and y aligned to 16 bytes unless quads is 0 (QuadLaunch)
// measured    H200, hot: a sigmoid of 256 x 16 planes of 56 x 56: 28.6 us
//             (docs/results/2026-11-28-h200/layers.json)
template <Activation kFunction>
__global__ void __launch_bounds__(kThreads)
    activation_direct_kernel(const float* x,  // [count]
                             float* y,        // [count]
                             float a, float b, int64_t quads, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < quads; i += step) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] =
        make_float4(activate<kFunction>(v.x, a, b), activate<kFunction>(v.y, a, b),
                    activate<kFunction>(v.z, a, b), activate<kFunction>(v.w, a, b));
  }
  for (int64_t i = 4 * quads + first; i < count; i += step) y[i] = activate<kFunction>(x[i], a, b);
}

using Kernel = void (*)(const float*, float*, float, float, int64_t, int64_t);

template <int... kIndex>
Kernel kernel_of(Activation function, std::integer_sequence<int, kIndex...> /*all*/) {
  static const Kernel kernels[] = {&activation_direct_kernel<static_cast<Activation>(kIndex)>...};
  return kernels[static_cast<size_t>(function)];
}

void activation_direct(const ActivationProblem& problem, const float* x, float* y, Stream& stream) {
  const int64_t count = problem.count;
  if (count == 0) return;
  const QuadLaunch grid(count, kThreads, {x, y});
  const Kernel kernel = kernel_of(problem.function, std::make_integer_sequence<int, kActivations>());
  launch("activation_direct_kernel", kernel, grid.blocks, kThreads, 0, native(stream), x, y, problem.a,
         problem.b, grid.quads, count);
}

}  // namespace

LENSLET_BACKEND(activation, gpu_direct, ActivationBackend{&activation_direct})

}  // namespace lenslet
