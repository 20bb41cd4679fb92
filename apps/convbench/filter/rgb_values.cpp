#include "apps/convbench/filter/rgb_values.h"

#include <algorithm>

#include "layers/reference/fill.h"

namespace lenslet {
namespace {

// colour * alpha + white * (1 - alpha), rounded.
int over_white(int colour, int alpha) {
  constexpr int kWhite = RgbValues::kMaxByte;
  return (colour * alpha + kWhite * (kWhite - alpha) + kWhite / 2) / kWhite;
}

}  // namespace

RgbValues rgb_values_of(const Picture& picture) {
  RgbValues result{picture.width, picture.height, {}};
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t pixels = picture.pixels.size() / channels;
  const bool coloured = channels >= 3, has_alpha = channels % 2 == 0;
  result.values.resize(pixels * RgbValues::kColours);
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* pixel = picture.pixels.data() + i * channels;
    const int alpha = has_alpha ? pixel[channels - 1] : RgbValues::kMaxByte;
    for (size_t colour = 0; colour < RgbValues::kColours; ++colour) {
      result.values[i * RgbValues::kColours + colour] =
          static_cast<float>(over_white(pixel[coloured ? colour : 0], alpha));
    }
  }
  return result;
}

RgbValues noise_values(int width, int height, uint64_t seed) {
  RgbValues picture{width, height, {}};
  picture.values.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * RgbValues::kColours);
  reference::Random random(seed);
  for (float& value : picture.values) value = static_cast<float>(random.below(RgbValues::kMaxByte + 1));
  return picture;
}

RgbValues values_of_round(const RgbValues& picture, int number) {
  RgbValues changed = picture;
  if (number == 1) {
    for (float& value : changed.values) value = static_cast<float>(RgbValues::kMaxByte) - value;
  }
  if (number == 2) {
    const auto length = static_cast<std::ptrdiff_t>(picture.width) * RgbValues::kColours;
    for (std::ptrdiff_t y = 0; y < picture.height; ++y) {
      // Mirroring the row also reverses the colours of each pixel, so they are reversed again.
      const auto row = changed.values.begin() + y * length;
      std::reverse(row, row + length);
      for (std::ptrdiff_t x = 0; x < length; x += RgbValues::kColours) std::swap(row[x], row[x + 2]);
    }
  }
  return changed;
}

}  // namespace lenslet
