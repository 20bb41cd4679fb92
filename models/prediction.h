// The answer of a classifier for one sample, and the type of such an element.
#pragma once

#include <cstdint>

#include "framework/tensor/tensor.h"

namespace lenslet {

/// A class and how probable it is.
struct Prediction {
  int32_t label = 0;      ///< The class of the largest logit; the first if several are equal.
  float probability = 0;  ///< Its softmax.
};

/// One Prediction for each sample.
inline constexpr ElementType kPrediction{"prediction", 8 * static_cast<int>(sizeof(Prediction)),
                                         ElementType::Count::kOne};

}  // namespace lenslet
