// The answer of a classifier for one sample: an element of type ElementType::kClass.
#pragma once

#include <cstdint>

namespace lenslet {

struct Prediction {
  int32_t label = 0;      // the class of the largest logit; the first if several are equal
  float probability = 0;  // its softmax
};

}  // namespace lenslet
