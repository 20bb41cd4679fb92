// The inputs of some samples, on their way from a request to the network.
#pragma once

#include <cstdint>
#include <vector>

namespace lenslet::serve {

/// Exactly one of the two is filled.
struct Samples {
  std::vector<float> values;    // [count, …] as the network reads them
  std::vector<uint8_t> pixels;  // [count, …], which are normalised first

  bool are_pixels() const noexcept { return !pixels.empty(); }
  /// Adds samples of the same kind.
  void append(const Samples& more) {
    values.insert(values.end(), more.values.begin(), more.values.end());
    pixels.insert(pixels.end(), more.pixels.begin(), more.pixels.end());
  }
};

}  // namespace lenslet::serve
