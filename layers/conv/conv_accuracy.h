// The error bound of a correct convolution.
//
// Each output is a sum of T - 1 products and a bias, T = C/G*R*S + 1 terms. With the magnitude M = sum of |x| * |w|
// behind it plus |b|, and u = 2^-24 the unit roundoff of fp32:
//   Sums: added in any order, with or without fused multiply-adds, a term passes at most T roundings, so that
//     |error| <= ((1 + u)^T - 1) * M <= u * T * e^(u*T) * M
//     (N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 2002, section 3.1).
//   Products: if operands are rounded first with a relative error of at most d, the error of every product is at most
//     |x| * |w| * (2*d + d^2). tf32 keeps 10 bits after the leading one and tensor cores ignore the others, d = 2^-10
//     (NVIDIA, PTX ISA, mma with .tf32 operands); fp16 is rounded to nearest, d = 2^-11, in its normal range. In both
//     cases the products are exact in fp32. Tensor cores add them in fp32 but truncate, which counts as two roundings
//     (M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science
//     7:e330, 2021).
//   Storing: operands of fp16 and bf16 tensors are what they are, and their products are exact in fp32. An output that
//     is stored in one of these types is rounded once more, by at most the type's unit roundoff of the rounded value
//     (framework/tensor/roundoff.h); where sums are exact, it is the nearest number of that type.
//
// The errors of a layer's outputs are assumed to be independent: those that reach an output of a later layer have
// either sign. For them there is the standard deviation of an error as well, if the roundings behind it are independent
// and of mean zero (N. Higham, T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput.
// 41, 2019). T roundings of partial sums, each at most u * M, have u * sqrt(T) * M.
#pragma once

#include <algorithm>
#include <cmath>

#include "framework/tensor/math_mode.h"
#include "framework/tensor/roundoff.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

/// |y - exact| <= (product_error + constant * 2^-24 * T) * M for each output. With by_image_maximum, M is
/// max|x[n]| * sum|w[k]| + |b[k]| instead: algorithms that transform tiles mix in inputs outside the output's window,
/// so that only the largest input of the image bounds their rounding.
struct ConvAccuracy {
  double constant = 1.01;         // worst-case roundings of a term, divided by T
  bool exact_on_integers = true;  // results for small integers are bit exact (docs/verification.md)
  bool by_image_maximum = false;  // M counts the image's largest input
  double product_error = 0;       // relative, of each product
  int storings = 1;               // roundings to the tensor's type, one after another, if that is not fp32
  /// The standard deviation of the error, in units of 2^-24 * M and apart from product_error; 0: of T roundings.
  double deviation = 0;

  /// The factor of M.
  double factor(int64_t terms) const {
    return product_error + constant * kUnitFp32 * static_cast<double>(terms);
  }
  /// The standard deviation of the error of the sums, relative to M.
  double sum_deviation(int64_t terms) const {
    return kUnitFp32 * (deviation > 0 ? deviation : constant * std::sqrt(static_cast<double>(terms)));
  }
};

/// T: the number of products of an output, plus one for the bias.
inline int64_t conv_terms(const Conv2dProblem& problem) {
  return int64_t{problem.c} / problem.groups * problem.r * problem.s + 1;
}

/// The bound of every algorithm that multiplies inputs by weights and sums the products, in any order.
inline ConvAccuracy accuracy_of_sums(const Conv2dProblem& problem, MathMode math) {
  ConvAccuracy accuracy;
  const auto terms = static_cast<double>(conv_terms(problem));
  accuracy.constant = std::max(1.01, std::exp(terms * kUnitFp32));
  accuracy.exact_on_integers = terms < 0x1p20;  // integers up to 4, products up to 16: sums below 2^24
  if (problem.type != ElementType::kFp32) accuracy.constant *= 2;  // tensor cores may add them
  if (math == MathMode::kFp32) return accuracy;
  const double operand = operand_roundoff(math);
  accuracy.product_error = 2 * operand + operand * operand;
  accuracy.constant *= 2 * (1 + accuracy.product_error);  // the summed products are at most that much larger
  return accuracy;
}

}  // namespace lenslet
