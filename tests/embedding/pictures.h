// The sample digits in the model's input format, for the embedding tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/tensor/pixels.h"
#include "models/digit/digit_image.h"
#include "models/lenet5.h"

namespace lenslet::test {

constexpr int kPixels = kLenet5Pixels;

/// samples/digit_<N>_<a|b>.png, prepared; their digits are 0, 0, 1, 1, …, 9, 9.
struct Pictures {
  std::vector<uint8_t> pixels;   // [20, 28, 28]
  std::vector<PixelPair> pairs;  // packed, [20, 28, 14]
  std::vector<uint8_t> greys;    // their pixels
  std::vector<float> images;     // normalised
  std::vector<int32_t> digits;
  int64_t count() const { return static_cast<int64_t>(digits.size()); }
};

inline const Pictures& pictures() {
  static const Pictures all = [] {
    Pictures made;
    for (int digit = 0; digit < kLenet5Classes; ++digit) {
      for (const char* hand : {"a", "b"}) {
        const std::string path =
            LENSLET_SOURCE_DIR "/samples/digit_" + std::to_string(digit) + "_" + hand + ".png";
        const DigitImage picture = prepare_digit(read_picture(path));
        made.pixels.insert(made.pixels.end(), picture.pixels.begin(), picture.pixels.end());
        made.digits.push_back(digit);
      }
    }
    const auto count = static_cast<int64_t>(made.pixels.size());
    made.pairs.resize(made.pixels.size() / 2);
    made.greys.resize(made.pixels.size());
    pack_pixels(made.pixels.data(), count, made.pairs.data());
    unpack_pixels(made.pairs.data(), count, made.greys.data());
    made.images.resize(made.pixels.size());
    normalise_mnist(made.pixels.data(), made.count(), made.images.data());
    return made;
  }();
  return all;
}

/// `values` of all pictures, repeated up to `count` pictures.
template <typename Value>
std::vector<Value> repeated(const std::vector<Value>& values, int64_t count) {
  std::vector<Value> all(static_cast<size_t>(count) * values.size() / pictures().digits.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
  return all;
}

}  // namespace lenslet::test
