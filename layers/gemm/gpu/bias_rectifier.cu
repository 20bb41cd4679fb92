// y[o, c, i] = f(y[o, c, i] + bias[c]), in place, f a rectifier. Bound by memory bandwidth: one read and one write of
// y.
#include "framework/base/alignment.h"
#include "framework/device/kernel_launch.cuh"
#include "layers/gemm/gpu/bias_rectifier.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

// computes    y = f(y + bias[channel]) for y [outer, channels, inner]
// work split  a thread does kWidth neighbouring values; in a quad either the channel is one (inner a multiple
//             of 4) or the channels are neighbours (inner 1)
// memory      no shared memory; bias comes through the read-only cache
// requires    kWidth 4 only if y is aligned to 16 bytes and inner, or channels with inner 1, is a multiple of 4
//             (bias_rectifier_gpu checks)
// measured    H200, hot: LeNet's conv1 / conv2, batch 10,000: 72.9 / 23.5 us
//             (docs/results/2026-11-28-h200/layers-im2col.json)
template <int kWidth, typename Index>
__global__ void __launch_bounds__(kThreads)
    bias_rectifier_kernel(float* y,                        // [outer, channels, inner]
                          const float* __restrict__ bias,  // [channels]
                          Rectifier after, Index channels, Index inner, Index total) {
  const Index t = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= total) return;
  const Index first = t * kWidth;
  const Index channel = first / inner % channels;
  if (kWidth == 1) {
    y[first] = after.of(y[first] + (bias ? bias[channel] : 0.0f));
    return;
  }
  float4 v = reinterpret_cast<float4*>(y)[t];
  float4 b = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (bias && inner == 1) {
    b = make_float4(bias[channel], bias[channel + 1], bias[channel + 2], bias[channel + 3]);
  } else if (bias) {
    b.x = b.y = b.z = b.w = bias[channel];
  }
  v = make_float4(after.of(v.x + b.x), after.of(v.y + b.y), after.of(v.z + b.z), after.of(v.w + b.w));
  reinterpret_cast<float4*>(y)[t] = v;
}

template <int kWidth, typename Index>
void bias_rectifier(float* y, const float* bias, Rectifier after, int64_t channels, int64_t inner,
                    int64_t values, cudaStream_t stream) {
  const int64_t total = values / kWidth;
  launch("bias_rectifier_kernel", bias_rectifier_kernel<kWidth, Index>, grid_blocks(total, kThreads),
         kThreads, 0, stream, y, bias, after, static_cast<Index>(channels), static_cast<Index>(inner),
         static_cast<Index>(total));
}

/// The kernel and its launch configuration.
struct Variant {
  decltype(&bias_rectifier<1, uint32_t>) launch;
  const void* kernel;
};
template <int kWidth, typename Index>
Variant variant() {
  return {&bias_rectifier<kWidth, Index>,
          reinterpret_cast<const void*>(&bias_rectifier_kernel<kWidth, Index>)};
}

Variant variant_for(int64_t values, int64_t channels, int64_t inner, bool aligned) {
  const bool in_quads = aligned && (inner % 4 == 0 || (inner == 1 && channels % 4 == 0));
  const bool small = values < INT32_MAX;
  if (in_quads) return small ? variant<4, uint32_t>() : variant<4, uint64_t>();
  return small ? variant<1, uint32_t>() : variant<1, uint64_t>();
}

}  // namespace

void bias_rectifier_gpu(float* y, const float* bias, Rectifier after, int64_t outer, int64_t channels,
                        int64_t inner, const Stream& stream) {
  const int64_t values = outer * channels * inner;
  if (values == 0 || (!bias && after.none())) return;
  const bool aligned = is_aligned(y, sizeof(float4));
  variant_for(values, channels, inner, aligned)
      .launch(y, bias, after, channels, inner, values, native(stream));
}

LaunchResources bias_rectifier_launch(int64_t outer, int64_t channels, int64_t inner) {
  const Variant variant = variant_for(outer * channels * inner, channels, inner, true);
  return launch_resources("bias_rectifier_kernel", variant.kernel, kThreads, 0);
}

}  // namespace lenslet
