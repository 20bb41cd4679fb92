// A rectifier of the lanes of a GCC vector (framework/tensor/float_vector.h), for kernels of the CPU. Internal.
#pragma once

#include "layers/rectifier.h"
#include "layers/vector_exp.h"

namespace lenslet {

/// `after` of every lane of y. A comparison with NaN is false, so NaN is kept, as in PyTorch. `after` comes by value,
/// because a store to the output could change what a reference names; y does not, because without AVX a vector of AVX
/// cannot be returned.
template <typename Vector>
LENSLET_ALWAYS_INLINE void rectify(const Rectifier after, Vector& y) {
  if (after.slope == 0.0f) {
    y = y < 0.0f ? Vector{} : y;
  } else if (after.slope != 1.0f) {
    y = y < 0.0f ? y * after.slope : y;
  }
  y = y > after.ceiling ? Vector{} + after.ceiling : y;
}

}  // namespace lenslet
