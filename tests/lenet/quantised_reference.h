// The convolutions of LeNet-5 in 8-bit integers, sum by sum, for the tests of int8.
#pragma once

#include <array>
#include <cstdint>

#include "models/fused_lenet5/quantise.h"

namespace lenslet {

/// h2 [16, 4, 4] of one image, rounded to fp16 as the whole network stores it.
std::array<float, 256> quantised_h2(const QuantisedConvolutions& convolutions, const uint8_t* image);

}  // namespace lenslet
