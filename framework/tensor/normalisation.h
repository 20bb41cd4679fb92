// Normalisation: converts a pixel 0..255 to the input value of a graph.
#pragma once

#include <array>
#include <cstdint>

#include "framework/tensor/pixels.h"

namespace lenslet {

/// (x / 255 - mean) / std of a pixel x; every step is rounded to fp32.
class Normalisation {
 public:
  /// x / 255.
  Normalisation() : Normalisation(0, 1) {}
  /// `mean` and `std` are those of x / 255.
  Normalisation(float mean, float std) noexcept;

  /// Subtracted from x / 255.
  float mean() const noexcept { return mean_; }
  /// Divides the difference.
  float std() const noexcept { return std_; }
  /// Writes the values of `count` pixels to `out`.
  void apply(const uint8_t* pixels, int64_t count, float* out) const;
  /// Like apply() above, for the greys of packed pixels.
  void apply(const PixelPair* pairs, int64_t count, float* out) const;

 private:
  float mean_, std_;
  std::array<float, 256> values_;  // the value of every pixel, so that apply() is one load per pixel
};

}  // namespace lenslet
