// RGB images with one thread per pixel, for problems that strips do not support, in either layout.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*stride - pad + r, q*stride - pad + s]
// The definition without tiling, to get many threads. A small image at a large stride has few outputs; with several
// outputs per thread most of the GPU would be idle, and each thread would wait for a long chain of loads.
#pragma once

#include <cstdint>

#include "layers/conv/conv_problem.h"
#include "layers/conv/gpu/direct/rows.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

constexpr int kDirectPixelsThreads = 128;

struct DirectPixelsShape {
  int h, w, p, q;
  int pixels;  // N * P * Q: one thread each
  int stride_h, stride_w, pad_h, pad_w;
  FastDivide by_q, by_p;
  bool relu;
};

// computes    y of RGB images x, 3x3 filters, any stride and padding, bias, optional ReLU; x and y in order kLayout
// work split  thread = one pixel of all K planes
// memory      no shared memory: neighbours share pixels through L1; filters in the constant bank
// requires    compiled K, no dilation, one group (checked by direct/pixels_launch.cuh)
// measured    H100, hot: RGB 4096 x 4096 to 3 planes, NHWC, stride 3: 77.8 us
//             (docs/results/2026-11-27-h100/reproduce.json)
template <int K, TensorLayout kLayout>
__global__ void __launch_bounds__(kDirectPixelsThreads)
    conv_direct_pixels_kernel(const __grid_constant__ DirectRowsFilter<3, K, 3, 3> filter,
                              const DirectPixelsShape shape,
                              const float* __restrict__ x,  // [N, 3, H, W] or [N, H, W, 3]
                              float* __restrict__ y) {      // [N, K, P, Q] or [N, P, Q, K]
  const int pixel = blockIdx.x * kDirectPixelsThreads + threadIdx.x;
  if (pixel >= shape.pixels) return;
  constexpr bool kChannelsLast = kLayout == TensorLayout::kNhwc;
  int q, p;
  const int n = shape.by_p.divide(shape.by_q.divide(pixel, q), p);
  // From one column, and from one channel, to the next.
  const int column = kChannelsLast ? 3 : 1, channel = kChannelsLast ? 1 : shape.h * shape.w;
  const float* image = x + static_cast<int64_t>(n) * 3 * shape.h * shape.w;
  const int h0 = p * shape.stride_h - shape.pad_h, w0 = q * shape.stride_w - shape.pad_w;
  float sums[K];
#pragma unroll
  for (int k = 0; k < K; ++k) sums[k] = filter.bias[k];
#pragma unroll
  for (int r = 0; r < 3; ++r) {
    const int h = h0 + r;
    const bool row_inside = h >= 0 && h < shape.h;
    const float* row = image + static_cast<int64_t>(h) * shape.w * column;
#pragma unroll
    for (int s = 0; s < 3; ++s) {
      const int w = w0 + s;
      const bool inside = row_inside && w >= 0 && w < shape.w;
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        const float value = inside ? __ldg(row + w * column + c * channel) : 0.0f;
#pragma unroll
        for (int k = 0; k < K; ++k) {
          sums[k] = fmaf(filter.weights[((k * 3 + c) * 3 + r) * 3 + s], value, sums[k]);
        }
      }
    }
  }
  if constexpr (kChannelsLast && K == 4) {
    *reinterpret_cast<float4*>(y + static_cast<int64_t>(pixel) * K) =
        make_float4(relu_if(shape.relu, sums[0]), relu_if(shape.relu, sums[1]), relu_if(shape.relu, sums[2]),
                    relu_if(shape.relu, sums[3]));
  } else {
    const int plane = shape.p * shape.q;
    float* target = kChannelsLast ? y + static_cast<int64_t>(pixel) * K
                                  : y + static_cast<int64_t>(n) * K * plane + (p * shape.q + q);
#pragma unroll
    for (int k = 0; k < K; ++k) target[kChannelsLast ? k : k * plane] = relu_if(shape.relu, sums[k]);
  }
}

}  // namespace lenslet
