// The answer of a classifier for one sample: an element of type ElementType::kClass.
#pragma once

#include <cstdint>

namespace lenslet {

/// A class and how probable it is.
struct Prediction {
  int32_t label = 0;      ///< The class of the largest logit; the first if several are equal.
  float probability = 0;  ///< Its softmax.
};

}  // namespace lenslet
