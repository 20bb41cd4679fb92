// Internal: both convolutions of LeNet-5 in 8-bit integers, derived from the weights alone.
//
//   h1 = rint(scale1[c] * max(0, bias1[c] + sum w1 x))   x bytes, w1 -127..127, h1 bytes
//   h2 = scale2[f] * max(0, bias2[f] + sum w2 h1)        w2 -127..127, h2 a number
// Sums are whole and exact: below 2^22, by the choice of each filter's unit, for all bytes that an image can hold. No
// picture is needed for calibration: the normalisation is folded into conv1, so that its inputs are bytes, and scale1
// takes the largest sum that bytes can reach to 255. Nothing saturates.
//
// A filter has a unit of its own, the one with the smallest squared error among 61. Rounding to nearest alone shifts
// the sum of a filter's 25 weights; neighbouring pixels are alike and h1 is never negative, so that these shifts add
// up to most of the error. As in C. Guo et al., "SQuant" (arXiv:2202.07471), the weights nearest to the other side are
// therefore rounded there until the sum of each 5 x 5 part, and then of the whole filter, is off by at most half a
// unit.
#pragma once

#include <array>
#include <cstdint>

#include "models/fused_lenet5/network_backend.h"

namespace lenslet {

struct QuantisedConvolutions {
  std::array<int8_t, 150> conv1_weight;  // [6, 1, 5, 5]
  std::array<int32_t, 6> conv1_bias;     // in the filter's unit
  std::array<float, 6>
      conv1_scale;  // whole multiples of 2^-22, so that 1.5 * 2^23 times one is exact in fp32
  std::array<int8_t, 2400> conv2_weight;  // [16, 6, 5, 5]
  std::array<int32_t, 16> conv2_bias;
  std::array<float, 16> conv2_scale;  // of 22 bits, for the same reason

  std::array<double, 6> conv1_unit, h1_unit;  // the values of one, in weights on bytes and in h1
  std::array<double, 16> conv2_unit;          // that of a weight on whole numbers h1
};

/// Depends on the parameters alone, bit for bit. Throws DataError for a weight or bias of a convolution that is not
/// finite.
QuantisedConvolutions quantise_convolutions(const Lenet5Parameters& parameters);

/// The parameters with the values that the whole numbers stand for, rounded to fp32; the fully connected layers' are
/// copies.
Lenet5Parameters with_quantised_values(const Lenet5Parameters& parameters,
                                       const QuantisedConvolutions& convolutions);

}  // namespace lenslet
