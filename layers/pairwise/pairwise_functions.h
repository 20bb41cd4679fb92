// The functions of the pairwise layer, on the host and on the GPU: a value of Pairwise, its name and its case in
// combine(). Internal.
#pragma once

#include <cmath>

#include "framework/base/host_device.h"
#include "framework/tensor/keep_nan.h"
#include "layers/vector_exp.h"

namespace lenslet {

enum class Pairwise { kAdd, kDiv, kMax, kMin, kMul, kPow, kPrelu, kSub };

/// In the order of Pairwise.
inline constexpr const char* kPairwiseNames[] = {"add", "div", "max", "min", "mul", "pow", "prelu", "sub"};
inline constexpr int kPairwiseFunctions = sizeof kPairwiseNames / sizeof *kPairwiseNames;

/// The function of two values; NaN if either is NaN, except where pow defines another result.
template <Pairwise kFunction>
LENSLET_HOST_DEVICE LENSLET_ALWAYS_INLINE float combine(float a, float b) {
  switch (kFunction) {
    case Pairwise::kAdd:
      return a + b;
    case Pairwise::kDiv:
      return a / b;
    case Pairwise::kMax:
      return larger(a, b);
    case Pairwise::kMin:
      return -larger(-a, -b);
    case Pairwise::kMul:
      return a * b;
    case Pairwise::kPow:
      return powf(a, b);
    case Pairwise::kPrelu:
      return a < 0.0f ? a * b : a;
    case Pairwise::kSub:
      return a - b;
  }
  return a;
}

}  // namespace lenslet
