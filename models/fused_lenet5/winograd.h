// Internal: Winograd's F(4, 5) in one dimension: 4 neighbouring outputs of a filter of 5 taps from 8 inputs, by 8
// multiplications instead of 20.
//
//   y [4] = A^T ((G g) * (B^T d)), g [5] the filter, d [8] the inputs, * element by element
//
// S. Winograd, "Arithmetic complexity of computations" (SIAM 1980); A. Lavin and S. Gray, "Fast algorithms for
// convolutional neural networks", arXiv:1509.09308 (2015), section 4.1. Points 1, -1, 2, -2, 1/2, -1/2, 0 and infinity,
// pairs first: B. Barabasz, A. Anderson, K. Soodhalter and D. Gregg, arXiv:1803.10986 (2018), find them good for eight
// inputs.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"

namespace lenslet::fused_lenet5 {

struct WinogradF45 {
  static constexpr int kPoints = 8, kTaps = 5, kOutputs = 4;
  static constexpr double kG[kPoints][kTaps] = {
      {-2 / 9.0, -2 / 9.0, -2 / 9.0, -2 / 9.0, -2 / 9.0},
      {-2 / 9.0, 2 / 9.0, -2 / 9.0, 2 / 9.0, -2 / 9.0},
      {1 / 90.0, 2 / 90.0, 4 / 90.0, 8 / 90.0, 16 / 90.0},
      {1 / 90.0, -2 / 90.0, 4 / 90.0, -8 / 90.0, 16 / 90.0},
      {32 / 45.0, 16 / 45.0, 8 / 45.0, 4 / 45.0, 2 / 45.0},
      {32 / 45.0, -16 / 45.0, 8 / 45.0, -4 / 45.0, 2 / 45.0},
      {-1, 0, 0, 0, 0},
      {0, 0, 0, 0, 1},
  };
  /// What B^T of bytes is multiplied by, so that its coefficients are whole; powers of two.
  static constexpr double kByteScale[kPoints] = {4, 4, 4, 4, 2, 2, 4, 4};
  /// How much more independent roundings of U = G g, of V = B^T d and of their products weigh in an output than those
  /// of g, d and the 5 products of a direct sum: the largest, over outputs o, root of sum over t of A_to^2 |G_t|^2
  /// |B_t|^2 / 5.
  static constexpr double kDeviation = 5.46;

  /// The positive point of pair 0, 1 or 2, to the power 0..3: its column of A^T.
  static LENSLET_HOST_DEVICE constexpr float power(int pair, int exponent) {
    const float point = pair == 0 ? 1.0f : pair == 1 ? 2.0f : 0.5f;
    return (exponent > 0 ? point : 1.0f) * (exponent > 1 ? point : 1.0f) * (exponent > 2 ? point : 1.0f);
  }

#ifdef __CUDACC__
  /// v = B^T d.
  static __device__ __forceinline__ void input(const float (&d)[8], float (&v)[8]) {
    const float even1 = fmaf(d[4], -4.25f, d[2] + d[6]), odd1 = fmaf(d[3], -4.25f, d[1] + d[5]);
    v[0] = even1 + odd1;
    v[1] = even1 - odd1;
    const float even2 = fmaf(d[2], 0.25f, fmaf(d[4], -1.25f, d[6]));
    const float odd2 = fmaf(d[5], 4.0f, fmaf(d[3], -5.0f, d[1]));
    v[2] = fmaf(odd2, 0.5f, even2);
    v[3] = fmaf(odd2, -0.5f, even2);
    const float even3 = fmaf(d[2], 4.0f, fmaf(d[4], -5.0f, d[6]));
    const float odd3 = fmaf(d[1], 4.0f, fmaf(d[3], -5.0f, d[5]));
    v[4] = fmaf(odd3, 0.5f, even3);
    v[5] = fmaf(odd3, -0.5f, even3);
    v[6] = fmaf(d[2] - d[4], 5.25f, d[6] - d[0]);
    v[7] = fmaf(d[3] - d[5], 5.25f, d[7] - d[1]);
  }
  /// Like input() above, for bytes, d[0] in the lowest of `first` and d[7] in the highest of `second`, as sums of whole
  /// numbers: v[t] is exactly kByteScale[t] times the other one's.
  static __device__ __forceinline__ void input(uint32_t first, uint32_t second, float (&v)[8]) {
    constexpr int8_t kCoefficients[kPoints][8] = {
        {0, 4, 4, -17, -17, 4, 4, 0}, {0, -4, 4, 17, -17, -4, 4, 0}, {0, 2, 1, -10, -5, 8, 4, 0},
        {0, -2, 1, 10, -5, -8, 4, 0}, {0, 4, 8, -5, -10, 1, 2, 0},   {0, -4, 8, 5, -10, -1, 2, 0},
        {-4, 0, 21, 0, -21, 0, 4, 0}, {0, -4, 0, 21, 0, -21, 0, 4},
    };
#pragma unroll
    for (int point = 0; point < kPoints; ++point) {
      uint32_t coefficients[2] = {0, 0};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        coefficients[i / 4] |= uint32_t{static_cast<uint8_t>(kCoefficients[point][i])} << (i % 4 * 8);
      }
      v[point] =
          static_cast<float>(dot_of_bytes(first, coefficients[0], dot_of_bytes(second, coefficients[1], 0)));
    }
  }
  /// sum + four unsigned bytes times four signed ones.
  static __device__ __forceinline__ int dot_of_bytes(uint32_t bytes, uint32_t coefficients, int sum) {
    int result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(bytes), "r"(coefficients), "r"(sum));
    return result;
  }
  /// y += A^T m for the products of one pair of points, whose positive one has these powers.
  static __device__ __forceinline__ void add_pair(float positive, float negative, float first, float second,
                                                  float third, float (&y)[4]) {
    const float sum = positive + negative, difference = positive - negative;
    y[0] += sum;
    y[1] = fmaf(difference, first, y[1]);
    y[2] = fmaf(sum, second, y[2]);
    y[3] = fmaf(difference, third, y[3]);
  }
#endif
};

/// Row `point` of G times a row of five taps, rounded once.
template <typename Value>
float winograd_weight(int point, const Value* taps) {
  double sum = 0;
  for (int s = 0; s < WinogradF45::kTaps; ++s) sum += WinogradF45::kG[point][s] * double{taps[s]};
  return static_cast<float>(sum);
}

/// Products of the direct sums over those computed, if both convolutions take 8 multiplications instead of 20 and the
/// linear layers save nothing.
inline double network_products_saved() {
  constexpr double kConvolutions = 86400 + 153600, kLinear = 30720 + 10080 + 840;  // per image
  constexpr double kSaved =
      static_cast<double>(WinogradF45::kOutputs * WinogradF45::kTaps) / WinogradF45::kPoints;
  return (kConvolutions + kLinear) / (kConvolutions / kSaved + kLinear);
}

}  // namespace lenslet::fused_lenet5
