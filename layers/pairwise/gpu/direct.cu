// Pairwise functions on the GPU: y[i] = after(f(a[i], b[i])), f of pairwise_functions.h, `after` a rectifier. The
// shapes of a and b are broadcast to that of y. Bound by memory bandwidth: each operand is read once and y is written
// once.
#include <utility>

#include "framework/device/kernel_launch.cuh"
#include "framework/instructions/early_launch.cuh"
#include "layers/pairwise/pairwise_backend.h"
#include "layers/pairwise/pairwise_functions.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y = after(f(a, b)) for operands without broadcasting
// work split  a thread computes one float4 of the whole quads; the first threads also compute the up to 3 remaining
//             values
// memory      no shared memory; y may be an operand, since a thread reads only the elements that it writes
// requires    a, b and y aligned to 16 bytes unless quads is 0 (QuadLaunch)
// measured    H200, hot: a sum of 256 x 16 planes of 56 x 56: 38.3 us
//             (docs/results/2026-11-28-h200/layers.json)
template <Pairwise kFunction>
__global__ void __launch_bounds__(kThreads)
    pairwise_direct_same_kernel(const float* a,  // [count]
                                const float* b,  // [count]
                                float* y,        // [count]
                                Rectifier after, int64_t quads, int64_t count) {
  overlap_launches();
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const auto of = [after](float u, float v) { return after.of(combine<kFunction>(u, v)); };
  for (int64_t i = first; i < quads; i += step) {
    const float4 u = reinterpret_cast<const float4*>(a)[i], v = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(of(u.x, v.x), of(u.y, v.y), of(u.z, v.z), of(u.w, v.w));
  }
  for (int64_t i = 4 * quads + first; i < count; i += step) y[i] = of(a[i], b[i]);
}

// computes    the same for operands of which one or both are broadcast
// work split  a thread computes one output, in a grid-stride loop; neighbouring threads take neighbouring outputs
// memory      no shared memory; repeated values come through L1
// requires    nothing
// measured    H200, hot: a product of 256 x 16 planes of 56 x 56 and of 16 values: 105.9 us
//             (docs/results/2026-11-28-h200/layers.json)
template <Pairwise kFunction>
__global__ void __launch_bounds__(kThreads)
    pairwise_direct_strided_kernel(const float* a,  // [count], by the first strides of `places`
                                   const float* b,  // [count], by the second
                                   float* y,        // [count]
                                   Rectifier after, const StridedPair places, int64_t count) {
  overlap_launches();
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t in_a, in_b;
    places.place(i, in_a, in_b);
    y[i] = after.of(combine<kFunction>(a[in_a], b[in_b]));
  }
}

using Same = void (*)(const float*, const float*, float*, Rectifier, int64_t, int64_t);
using Strided = void (*)(const float*, const float*, float*, Rectifier, StridedPair, int64_t);

template <int... kIndex>
std::pair<Same, Strided> kernels_of(Pairwise function, std::integer_sequence<int, kIndex...> /*all*/) {
  static const std::pair<Same, Strided> kernels[] = {
      {&pairwise_direct_same_kernel<static_cast<Pairwise>(kIndex)>,
       &pairwise_direct_strided_kernel<static_cast<Pairwise>(kIndex)>}...};
  return kernels[static_cast<size_t>(function)];
}

void pairwise_direct(const PairwiseProblem& problem, const float* a, const float* b, float* y,
                     Stream& stream) {
  const StridedPair& places = problem.places;
  const int64_t count = places.count();
  const auto [same, strided] =
      kernels_of(problem.function, std::make_integer_sequence<int, kPairwiseFunctions>());
  const bool contiguous =
      places.rank == 0 || (places.rank == 1 && places.first[0] == 1 && places.second[0] == 1);
  if (!contiguous) {
    launch_early("pairwise_direct_strided_kernel", strided, grid_blocks(count, kThreads), kThreads, 0, stream,
                 a, b, y, problem.after, places, count);
    return;
  }
  const QuadLaunch grid(count, kThreads, {a, b, y});
  launch_early("pairwise_direct_same_kernel", same, grid.blocks, kThreads, 0, stream, a, b, y, problem.after,
               grid.quads, count);
}

}  // namespace

LENSLET_BACKEND(pairwise, gpu_direct, PairwiseBackend{&pairwise_direct})

}  // namespace lenslet
