// How far a right result of a pairwise function may lie from the judge's: a row for each function.
//
// In units of u = 2^-24, the rounding of an operation, relative to the magnitude m that the judge gives
// (reference::Result). For sums and differences m = |a| + |b|, for powers a^b (1 + |b log a|).
// Both kinds of device round the others correctly: nvcc divides so by default, -prec-div=true. A unit in the last place
// (ulp) is at most 2u. powf errs by 8 ulp and, as these count from the correctly rounded result, a half (NVIDIA, CUDA
// C++ Programming Guide, "Mathematical Functions", single precision; newer editions have 4), on the CPU by less than 1
// (the GNU C Library's manual, "Errors in Math Functions").
#pragma once

#include <stdexcept>

#include "layers/pairwise/pairwise_functions.h"

namespace lenslet {

/// 0 if every result is exact.
inline int error_of(Pairwise function) {
  switch (function) {
    case Pairwise::kMax:
    case Pairwise::kMin:
      return 0;
    case Pairwise::kAdd:
    case Pairwise::kDiv:
    case Pairwise::kMul:
    case Pairwise::kPrelu:
    case Pairwise::kSub:
      return 1;
    case Pairwise::kPow:  // 8.5 ulp
      return 17;
  }
  throw std::logic_error("no bound of the function");
}

}  // namespace lenslet
