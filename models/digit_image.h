// From anybody's picture of a digit to what the model was trained on: 28x28, ink bright on 0, the digit's
// longer side 20 pixels, its centre of mass on pixel (14, 14). The steps are MNIST's own, so MNIST images
// pass through unchanged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/io/image.h"

namespace lenslet {

/// What the model sees of a picture, and how it came about.
struct DigitImage {
  static constexpr int kSide = 28;              // pixels of the model's input, either way
  std::array<uint8_t, kSide * kSide> pixels{};  // 0 = paper, 255 = ink
  bool blank = false;                           // no ink found, or no digit in it; pixels are all 0
  bool untouched = false;                       // was MNIST-like already
  std::vector<std::string> steps;               // each decision, for --explain
  std::vector<std::string> warnings;            // touches the border, two blobs, little contrast
};

/// Alpha over white, grey, polarity, paper level removed, box of the ink, area-filtered scale, integer shift.
DigitImage prepare_digit(const Image& image);

/// A picture as text: two characters a pixel, dark to bright, at most `max_columns` columns and as many lines; a larger one
/// is scaled down.
std::string picture_as_text(const uint8_t* pixels, int width, int height, int max_columns = 56);

}  // namespace lenslet
