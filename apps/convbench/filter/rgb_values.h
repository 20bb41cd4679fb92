// Pictures as tensors: three colours, values from 0 to 255.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/io/picture.h"

namespace lenslet {

/// RGB, one fp32 value from 0 to 255 for each byte, interleaved: [H, W, 3].
struct RgbValues {
  static constexpr int kColours = 3, kMaxByte = 255;
  int width = 0, height = 0;
  std::vector<float> values;
};

/// Grey becomes three equal colours; alpha is composited over white.
RgbValues rgb_values_of(const Picture& picture);
/// Random bytes; the same seed gives the same bytes.
RgbValues noise_values(int width, int height, uint64_t seed);
/// Values of the same kind: 0 is the picture itself, 1 has inverted colours, 2 is mirrored.
RgbValues values_of_round(const RgbValues& picture, int number);

}  // namespace lenslet
