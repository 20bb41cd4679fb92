// The matrices of Winograd's F(4x4, 3x3) on the CPU, for vectors of independent lanes. Internal.
//
// A tile of 4x4 outputs comes from 6x6 inputs: Y = A^T [(G g G^T) * (B^T d B)] A, * element by element.
// A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", arXiv:1509.09308 (2015), section 4.1. The
// points are 0, 1, -1, 1/2, -2 and infinity, as in layers/conv/gpu/winograd/transforms.cuh: B. Barabasz, A. Anderson,
// K. Soodhalter and D. Gregg, "Error analysis and improving the accuracy of Winograd convolution for deep neural
// networks", arXiv:1803.10986 (2018).
#pragma once

#include <cstdint>

#include "layers/conv/winograd_filters.h"
#include "layers/vector_exp.h"

namespace lenslet::winograd_cpu {

constexpr int kOut = 4, kIn = 6, kTaps = 3;  // edges of a tile of outputs, of its inputs, and of a filter
constexpr int kPositions = kIn * kIn;        // products of a tile, for each channel
constexpr const double (&kG)[kIn][kTaps] = kWinogradG43;

/// U = G g G^T of one filter g [3, 3], rounded once: [6, 6], `step` floats apart.
inline void transform_filter(const float* g, int64_t step, float* u) {
  for (int i = 0; i < kIn; ++i) {
    for (int j = 0; j < kIn; ++j) {
      double sum = 0;
      for (int r = 0; r < kTaps; ++r) {
        for (int s = 0; s < kTaps; ++s) sum += kG[i][r] * kG[j][s] * double{g[r * kTaps + s]};
      }
      u[(i * kIn + j) * step] = static_cast<float>(sum);
    }
  }
}

/// v = B^T d.
template <typename Vector>
LENSLET_ALWAYS_INLINE void transform_input(const Vector (&d)[kIn], Vector (&v)[kIn]) {
  const Vector d31 = d[3] - d[1], d42 = d[4] - d[2];
  v[0] = 1.5f * d31 + (-2.0f * d[2] + (d[0] + d[4]));
  v[1] = 0.5f * d[2] + (2.5f * d[3] + (d[4] - d[1]));
  v[2] = 0.5f * d[3] + (-2.5f * d[2] + (d[4] + d[1]));
  v[3] = 2.0f * d31 + d42;
  v[4] = -0.5f * d31 + d42;
  v[5] = 1.5f * d42 + (-2.0f * d[3] + (d[5] + d[1]));
}

/// y = A^T m.
template <typename Vector>
LENSLET_ALWAYS_INLINE void transform_output(const Vector (&m)[kIn], Vector (&y)[kOut]) {
  const Vector sum = m[1] + m[2], difference = m[1] - m[2];
  y[0] = m[0] + sum + (m[3] + m[4]);
  y[1] = -2.0f * m[4] + (0.5f * m[3] + difference);
  y[2] = 4.0f * m[4] + (0.25f * m[3] + sum);
  y[3] = -8.0f * m[4] + (0.125f * m[3] + difference) + m[5];
}

}  // namespace lenslet::winograd_cpu
