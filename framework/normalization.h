// Normalization: how a pixel 0..255 becomes the value that a graph reads.
#pragma once

#include <array>
#include <cstdint>

namespace lenslet {

/// (x / 255 - mean) / std of each pixel x, every step rounded to fp32.
class Normalization {
 public:
  /// x / 255.
  Normalization() : Normalization(0, 1) {}
  /// `mean` and `std` are of x / 255.
  Normalization(float mean, float std) noexcept;

  /// What is taken off x / 255.
  float mean() const noexcept { return mean_; }
  /// What the rest is divided by.
  float std() const noexcept { return std_; }
  /// `count` pixels to as many values.
  void apply(const uint8_t* pixels, int64_t count, float* out) const;

 private:
  float mean_, std_;
  std::array<float, 256> values_;  // 256 are all there are: the exactly rounded steps at the cost of a load
};

}  // namespace lenslet
