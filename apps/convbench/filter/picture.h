// Pictures as tensors: three colours, values from 0 to 255.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/io/image.h"

namespace lenslet {

/// RGB, one fp32 value from 0 to 255 for each byte, interleaved: [H, W, 3].
struct Picture {
  int width = 0, height = 0;
  std::vector<float> values;
};

/// Grey becomes three equal colours; alpha is composited over white.
Picture picture_of(const Image& image);
/// Random bytes; the same seed gives the same bytes.
Picture noise_picture(int width, int height, uint64_t seed);
/// Pictures with values of the same kind: 0 is the picture itself, 1 has inverted colours, 2 is mirrored.
Picture picture_of_round(const Picture& picture, int number);

}  // namespace lenslet
