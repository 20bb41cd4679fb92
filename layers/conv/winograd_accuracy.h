// Internal: the error bound of Winograd's algorithm, F(M, R), for its variants on both kinds of device.
//
// Y = A^T [(G g G^T) * (B^T d B)] A; let a = max over outputs o and taps j of sum over t, i of |A_to G_tj B_it|: how
// much larger than |d||g| the numbers behind an output can be, in one dimension; a^2 in two. Every product |x||w|
// inside a tile is rounded at most C/G + r0 times, each time amplified by at most that factor: C/G times in the sum
// over channels, r0 times elsewhere. So |error| <= 1.01 * a^2 * (C/G + r0) * u * (max|x| * sum|w| + |b|). The maximum
// is that of the image, because a tile's rounding also comes from inputs outside the output's window.
//
// The standard deviation, for independent roundings and inputs of either sign: position t of a transformed filter is at
// most max over j of |G_tj| times sum|w|, that of a transformed tile has the deviation max|x| * |B_t|, its row's
// Euclidean norm, and A_to^2 weighs the square of its error. So it is d^2 * sqrt(C/G + r0) * u * M, with
// d^2 = max over outputs o of sum over t of A_to^2 * max_j G_tj^2 * |B_t|^2 in one dimension.
#pragma once

#include <cmath>

#include "layers/conv/conv_accuracy.h"

namespace lenslet {

/// The figures of one variant.
struct WinogradRounding {
  double amplification;  // a, rounded up
  double other;          // r0
  double deviation;      // d, rounded up
};
/// F(2, 3) at the points 0, 1, -1 and infinity: r0 is one rounding in U, and 7 in the transforms and for the bias.
inline constexpr WinogradRounding kWinogradF23{4, 8, 1.74};
/// F(4, 3) and F(2, 5) at the points 0, 1, -1, 1/2, -2 and infinity: r0 is one rounding in U, and 18 in the transforms,
/// for the bias and, on processors without fused multiply-adds, for a product.
inline constexpr WinogradRounding kWinogradSixInputs{16.94, 19, 5.16};

/// Bounds that hold for real numbers; exact_on_integers is left to the backend.
inline ConvAccuracy winograd_accuracy(const Conv2dProblem& problem, const WinogradRounding& rounding) {
  const double channels = double{1} * problem.c / problem.groups;
  ConvAccuracy accuracy;
  accuracy.constant = 1.01 * rounding.amplification * rounding.amplification * (channels + rounding.other) /
                      static_cast<double>(conv_terms(problem));
  accuracy.deviation = rounding.deviation * rounding.deviation * std::sqrt(channels + rounding.other);
  accuracy.by_image_maximum = true;
  return accuracy;
}

}  // namespace lenslet
