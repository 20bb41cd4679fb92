// Bounds of the errors of activations, a row for each function.
//
// In units of u = 2^-24, the rounding of an operation, relative to the magnitude m that the judge gives
// (reference::Result). A unit in the last place (ulp) is at most 2u of a value, and at most u of one in [1/2, 1).
// The functions that they call err by, in ulp:
//   GPU: expf 2, erff 2, log1pf 1, logf 1, tanhf 2, division and sqrtf 0, and half an ulp each, as these count from the
//        correctly rounded result (NVIDIA, CUDA C++ Programming Guide, "Mathematical Functions", single precision, with
//        -prec-div=true and -prec-sqrt=true, which are nvcc's defaults)
//   CPU: exp 1.5, error_function 2.5, tanh 3, log(1 + e^x) 3, logistic 2.5, e^x - 1 2.5, measured for every exponent
//        (tests/layers/functions_test.cpp); logf below 1 (the GNU C Library's manual, "Errors in Math Functions")
// A multiply-add that a compiler fuses rounds once instead of twice, so that it needs no row.
#pragma once

#include <stdexcept>

#include "layers/activation/activation_functions.h"

namespace lenslet {

/// The bound of a function's error, in u; 0 if every result is exact.
inline int error_of(Activation function) {
  switch (function) {
    case Activation::kAbs:
    case Activation::kCeil:
    case Activation::kClip:
    case Activation::kFloor:
    case Activation::kNeg:
    case Activation::kThresholdedRelu:
      return 0;
    case Activation::kLeakyRelu:
    case Activation::kReciprocal:
    case Activation::kSqrt:
      return 1;
    case Activation::kHardSigmoid:  // a product, a sum
    case Activation::kSoftsign:     // a sum, a quotient
      return 2;
    case Activation::kHardSwish:  // and a product
      return 3;
    // m = 2a + |x|; e^v - 1: 5, the product: 1, both relative to a; x / a: 1, relative to x
    case Activation::kCelu:
    // m = 2a; e^x - 1: 5, the product: 1, both relative to a
    case Activation::kElu:
    case Activation::kLog:  // 1.5 ulp
      return 3;
    // m = |x|; of 1 + erf, which x / 2 multiplies: erf 2.5, its argument 1, the sum 2; then 1
    case Activation::kGelu:
    case Activation::kSelu:  // as elu, and a product
      return 4;
    case Activation::kErf:  // 2.5 ulp
    case Activation::kExp:  // 2.5 ulp
      return 5;
    // as gelu: tanh 3, its argument 7 * 0.45, as t / cosh^2 t is below it, the sum 2
    case Activation::kGeluTanh:
    case Activation::kTanh:  // 3 ulp
      return 6;
    case Activation::kSigmoid:  // exp 5, a sum, a quotient
      return 7;
    case Activation::kSilu:  // and a product
    case Activation::kMish:  // m = |x|: tanh 3, its argument 8 * 0.45, a product
      return 8;
    case Activation::kSoftplus:  // exp 5, log1p 3, a sum
      return 9;
  }
  throw std::logic_error("no bound of the function");
}

}  // namespace lenslet
