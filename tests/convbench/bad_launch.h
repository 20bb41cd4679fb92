// GPU code of the cheating kernels: a launch that cannot succeed and is not checked, and a kernel that first looks for
// its answer.
#pragma once

#include <cmath>

#include "framework/base/host_device.h"
#include "framework/device/stream.h"

namespace lenslet {

/// 4,096 threads per block. Does nothing in a build without the GPU side.
void launch_too_many_threads(Stream& stream);
/// Whether the stream is being captured; false in a build without the GPU side.
bool is_captured(Stream& stream);

/// A convolution of one image, NCHW, stride 1, that computes an output only if its answer is not there. An answer is a
/// number; with `seen` (as many elements as y) a pixel of the input must also equal the one used to compute it.
struct LazyConv {
  const float *x = nullptr, *weights = nullptr, *bias = nullptr;  // no bias: null
  float *y = nullptr, *seen = nullptr;
  int c = 0, h = 0, w = 0, k = 0, r = 0, s = 0, pad = 0, p = 0, q = 0;
  bool relu = false;

  LENSLET_HOST_DEVICE void output(int i) const {
    const float pixel = x[i % (c * h * w)];
    if (!std::isnan(y[i]) && (seen == nullptr || seen[i] == pixel)) return;
    const int filter = i / (p * q), row = i / q % p, column = i % q;
    float sum = bias == nullptr ? 0 : bias[filter];
    for (int channel = 0; channel < c; ++channel) {
      for (int dr = 0; dr < r; ++dr) {
        for (int ds = 0; ds < s; ++ds) {
          const int at_row = row + dr - pad, at_column = column + ds - pad;
          if (at_row < 0 || at_row >= h || at_column < 0 || at_column >= w) continue;
          sum +=
              x[(channel * h + at_row) * w + at_column] * weights[((filter * c + channel) * r + dr) * s + ds];
        }
      }
    }
    y[i] = relu && sum < 0 ? 0 : sum;
    if (seen != nullptr) seen[i] = pixel;
  }
};
/// Enqueues the computation of all outputs. Does nothing in a build without the GPU side.
void launch_lazy_conv(Stream& stream, const LazyConv& conv);

}  // namespace lenslet
