// Copies with strides on the GPU: y[sum over d of i[d] * second[d]] = x[sum over d of i[d] * first[d]] for every index
// i of a StridedPair. Bound by memory bandwidth: each value is read once and written once.
#include "framework/device/kernel_launch.cuh"
#include "layers/rearrange/rearrange_backend.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y[place in y] = x[place in x] for every index
// work split  a thread copies one value, in a grid-stride loop; neighbouring threads take neighbouring places of y
// memory      no shared memory; a transpose reads with strides, through L2
// requires    nothing
// measured    H200, hot: the rows and columns of 256 x 16 planes of 56 x 56 swapped: 104.4 us
//             (docs/results/2026-11-28-h200/layers.json)
__global__ void __launch_bounds__(kThreads)
    rearrange_copy_kernel(const float* __restrict__ x,  // [count], by the first strides of `places`
                          float* __restrict__ y,        // [count], by the second
                          const StridedPair places, int64_t count) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    int64_t in_x, in_y;
    places.place(i, in_x, in_y);
    y[in_y] = x[in_x];
  }
}

// computes    y[i] = value, count values
// work split  a thread writes one value, in a grid-stride loop
// memory      no shared memory
// requires    nothing
// measured    H200, hot: 256 x 16 planes of 56 x 56 padded to 58 x 58, with the copy into the filled memory: 141.1 us
//             (docs/results/2026-11-28-h200/layers.json)
__global__ void __launch_bounds__(kThreads) rearrange_fill_kernel(float* y,  // [count]
                                                                  int64_t count, float value) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    y[i] = value;
}

void rearrange_copy(const StridedCopy& copy, const float* x, float* y, Stream& stream) {
  const int64_t count = copy.places.count();
  if (count == 0) return;
  launch("rearrange_copy_kernel", rearrange_copy_kernel, grid_blocks(count, kThreads), kThreads, 0,
         native(stream), x + copy.x_first, y + copy.y_first, copy.places, count);
}

void rearrange_fill(float* y, int64_t count, float value, Stream& stream) {
  if (count == 0) return;
  launch("rearrange_fill_kernel", rearrange_fill_kernel, grid_blocks(count, kThreads), kThreads, 0,
         native(stream), y, count, value);
}

}  // namespace

LENSLET_BACKEND(rearrange, gpu_copy, RearrangeBackend{&rearrange_copy, &rearrange_fill})

}  // namespace lenslet
