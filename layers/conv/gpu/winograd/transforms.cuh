// Winograd's transforms in one dimension: M outputs of a filter of R taps from E = M + R - 1 inputs.
//
//   y [M] = A^T ((G g) * (B^T d)), g [R] the filter, d [E] the inputs, * element by element
//
// A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", arXiv:1509.09308 (2015), section
// 4.1: row i of G and column i of A^T evaluate polynomials at point i, B^T interpolates. B^T depends on E and
// the points alone, so F(2, 5) and F(4, 3) share it. With six inputs Lavin and Gray use the points 0, 1, -1, 2, -2 and
// infinity; here 1/2 replaces 2, which reduces rounding errors about three times in two dimensions: B.
// Barabasz, A. Anderson, K. Soodhalter and D. Gregg, "Error analysis and improving the accuracy of Winograd
// convolution for deep neural networks", arXiv:1803.10986 (2018).
#pragma once

#include "layers/conv/winograd_filters.h"

namespace lenslet {

/// F(M, R): kG is G, input() v = B^T d, output() y = A^T m.
template <int M, int R>
struct Winograd;

/// Points 0, 1, -1, infinity.
template <>
struct Winograd<2, 3> {
  static constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static __device__ __forceinline__ void input(const float (&d)[4], float (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  }
  static __device__ __forceinline__ void output(const float (&m)[4], float (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
  /// A^T: what product i counts for output 0 or 1.
  static __device__ constexpr float output_weight(int y, int i) {
    return y == 0 ? (i < 3 ? 1.0f : 0.0f) : i == 0 ? 0.0f : i == 1 ? 1.0f : -1.0f;
  }
};

/// Six inputs at the points 0, 1, -1, 1/2, -2, infinity.
struct WinogradSixInputs {
  static __device__ __forceinline__ void input(const float (&d)[6], float (&v)[6]) {
    const float d31 = d[3] - d[1], d42 = d[4] - d[2];
    v[0] = fmaf(1.5f, d31, fmaf(-2.0f, d[2], d[0] + d[4]));
    v[1] = fmaf(0.5f, d[2], fmaf(2.5f, d[3], d[4] - d[1]));
    v[2] = fmaf(0.5f, d[3], fmaf(-2.5f, d[2], d[4] + d[1]));
    v[3] = fmaf(2.0f, d31, d42);
    v[4] = fmaf(-0.5f, d31, d42);
    v[5] = fmaf(1.5f, d42, fmaf(-2.0f, d[3], d[5] + d[1]));
  }
};

template <>
struct Winograd<2, 5> : WinogradSixInputs {
  static constexpr double kG[6][5] = {{1, 0, 0, 0, 0},
                                      {1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0},
                                      {-1 / 3.0, 1 / 3.0, -1 / 3.0, 1 / 3.0, -1 / 3.0},
                                      {-16 / 15.0, -8 / 15.0, -4 / 15.0, -2 / 15.0, -1 / 15.0},
                                      {1 / 15.0, -2 / 15.0, 4 / 15.0, -8 / 15.0, 16 / 15.0},
                                      {0, 0, 0, 0, 1}};
  static __device__ __forceinline__ void output(const float (&m)[6], float (&y)[2]) {
    y[0] = m[0] + m[1] + m[2] + m[3] + m[4];
    y[1] = fmaf(0.5f, m[3], fmaf(-2.0f, m[4], m[1] - m[2] + m[5]));
  }
  /// A^T: what product i counts for output 0 or 1.
  static __device__ constexpr float output_weight(int y, int i) {
    return y == 0   ? (i < 5 ? 1.0f : 0.0f)
           : i == 0 ? 0.0f
           : i == 2 ? -1.0f
           : i == 3 ? 0.5f
           : i == 4 ? -2.0f
                    : 1.0f;
  }
};

template <>
struct Winograd<4, 3> : WinogradSixInputs {
  static constexpr const double (&kG)[6][3] = kWinogradG43;
  static __device__ __forceinline__ void output(const float (&m)[6], float (&y)[4]) {
    const float sum = m[1] + m[2], difference = m[1] - m[2];
    y[0] = m[0] + sum + (m[3] + m[4]);
    y[1] = fmaf(-2.0f, m[4], fmaf(0.5f, m[3], difference));
    y[2] = fmaf(4.0f, m[4], fmaf(0.25f, m[3], sum));
    y[3] = fmaf(-8.0f, m[4], fmaf(0.125f, m[3], difference)) + m[5];
  }
};

/// U = G g G^T of one filter g [R, R], in fp64: [E, E].
template <int M, int R>
void transform_winograd_filter(const float* g, double (&u)[M + R - 1][M + R - 1]) {
  constexpr int kEdge = M + R - 1;
  double half[kEdge][R];  // G g
  for (int i = 0; i < kEdge; ++i) {
    for (int s = 0; s < R; ++s) {
      half[i][s] = 0;
      for (int r = 0; r < R; ++r) half[i][s] += Winograd<M, R>::kG[i][r] * double{g[r * R + s]};
    }
  }
  for (int i = 0; i < kEdge; ++i) {
    for (int j = 0; j < kEdge; ++j) {
      u[i][j] = 0;
      for (int s = 0; s < R; ++s) u[i][j] += half[i][s] * Winograd<M, R>::kG[j][s];
    }
  }
}

}  // namespace lenslet
