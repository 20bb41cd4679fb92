// Internal: the error bound of Winograd's algorithm, F(M, R), for its forms on both kinds of device.
//
// Y = A^T [(G g G^T) * (B^T d B)] A; let a = max over outputs o and taps j of sum over t, i of |A_to G_tj B_it|: how
// much larger than |d||g| the numbers behind an output can be, in one dimension; a^2 in two. Every product |x||w|
// inside a tile is rounded at most C/G + r0 times, each time amplified by at most that factor: C/G times in the sum
// over channels, r0 times elsewhere. So |error| <= 1.01 * a^2 * (C/G + r0) * u * (max|x| * sum|w| + |b|). The maximum
// is that of the image, because a tile's rounding also comes from inputs outside the output's window.
#pragma once

#include "layers/conv/conv_accuracy.h"

namespace lenslet {

/// The figures of one form.
struct WinogradRounding {
  double amplification;  // a, rounded up
  double other;          // r0
};
/// F(2, 3) at the points 0, 1, -1 and infinity: r0 is one rounding in U, and 7 in the transforms and for the bias.
inline constexpr WinogradRounding kWinogradF23{4, 8};
/// F(4, 3) and F(2, 5) at the points 0, 1, -1, 1/2, -2 and infinity: r0 is one rounding in U, and 18 in the transforms,
/// for the bias and, on processors without fused multiply-adds, for a product.
inline constexpr WinogradRounding kWinogradSixInputs{16.94, 19};

/// Bounds that hold for real numbers; exact_on_integers is left to the backend.
inline ConvAccuracy winograd_accuracy(const Conv2dProblem& problem, const WinogradRounding& rounding) {
  const double channels = double{1} * problem.c / problem.groups;
  ConvAccuracy accuracy;
  accuracy.constant = 1.01 * rounding.amplification * rounding.amplification * (channels + rounding.other) /
                      static_cast<double>(conv_terms(problem));
  accuracy.by_image_maximum = true;
  return accuracy;
}

}  // namespace lenslet
