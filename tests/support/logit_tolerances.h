// How far the answers of the built-in network may lie from the exact ones, and two of them from each other.
// tests/support/tolerances.py has the same values for tests in Python. tests/lenet/tolerances_test.py compares the two
// files and computes the figures of the derivations again.
#pragma once

#include "layers/softmax/softmax_error.h"

namespace lenslet::test {

/// Error of a logit in fp32, unit roundoff u = 2^-24. To first order it is the sum of the roundings of each product and
/// of each partial sum, 25 + 150 + 256 + 120 + 84 terms in the five layers, multiplied by the weights after them. The
/// rounding of a value s with mantissa m has the mean square 0.18 (u s)^2: it is uniform in +-u s / m, and m is
/// log-uniform in [1, 2). With the trained weights the standard deviation of the worst logit of digits, strokes and
/// noise is 3.0e-6. In the Winograd convolutions of the whole-network backends a rounding weighs 5.46 times as much
/// (WinogradF45::kDeviation), and the transforms round as well: 1.3e-5. This is eight such deviations: a sum of so many
/// roundings is nearly normal, and beyond eight lies 1.2e-15 of a normal distribution.
constexpr double kLogitError = 1e-4;
/// Error of a logit in tf32 or fp16. Tensor cores cut operands in tf32 after the tenth bit of the mantissa. On average
/// that takes 2^-11 / (2 ln 2) = 3.5e-4 of each, always towards 0: of both operands in five layers 10 times that, up to
/// 0.037 of the largest logit of the MNIST test set, 10.5. The rest has either sign, as in fp16, which rounds to
/// nearest: 0.013 where the operands are rounded so in numpy. This is the sum of the two.
constexpr double kShortLogitError = 0.05;

/// Two answers differ by up to twice the error of one.
constexpr double kLogitTolerance = 2 * kLogitError;
constexpr double kShortLogitTolerance = 2 * kShortLogitError;  ///< One of the answers is in tf32 or fp16.

/// Error of probability `p` if each logit has an error of up to `logit_error`: p changes by p (1 - p) with its own
/// logit, and together by as much with the others.
constexpr double probability_bound(double p, double logit_error) {
  return 2 * p * (1 - p) * logit_error + kSoftmaxError;
}

/// Two probabilities of a sample digit in fp32. Each sample has p >= 0.996, so that the logits change it by 1.6e-6 and
/// the softmax of each answer adds 2e-6: 5.6e-6, rounded up.
constexpr double kProbabilityTolerance = 1e-5;
/// One of them in tf32 or fp16: 8.0e-4, rounded up.
constexpr double kShortProbabilityTolerance = 1e-3;

}  // namespace lenslet::test
