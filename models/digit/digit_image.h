// Converts any picture of a digit to the form that the model was trained on: 28x28, bright ink on 0, the digit's longer
// side 20 pixels, its centre of mass on pixel (14, 14). The steps are those of MNIST, so MNIST images pass through
// unchanged.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/io/picture.h"
#include "models/digit/picture_warning.h"
#include "models/lenet5_sizes.h"

namespace lenslet {

/// The model's input from a picture, and the steps that led to it.
struct DigitImage {
  static constexpr int kSide = kLenet5Side;     // rows and columns of the model's input
  static constexpr int kDigitSide = 20;         // pixels of the digit's longer side in it, as in MNIST
  std::array<uint8_t, kSide * kSide> pixels{};  // 0 = paper, 255 = ink
  bool blank = false;                           // no ink or no digit found; all pixels are 0
  bool untouched = false;                       // the picture already had MNIST's form
  std::vector<std::string> steps;               // each decision, for --explain
  PictureWarnings warnings;                     // what may be wrong
};

/// Takes all marks of a picture as one digit; prepare_number() separates several digits. Steps: those of find_ink(),
/// then box, strokes, scale and place.
DigitImage prepare_digit(const Picture& picture);

/// A picture as text: two characters per pixel, dark to bright. A picture of more than `max_columns` columns or lines
/// is scaled down.
std::string picture_as_text(const uint8_t* pixels, int width, int height, int max_columns = 56);

}  // namespace lenslet
