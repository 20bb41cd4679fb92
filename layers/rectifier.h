// Rectifier: what a layer can apply to its sums before it stores them, y = min(x < 0 ? slope * x : x, ceiling).
// ReLU, ReLU6 and any Clip from 0, LeakyReLU. It never falls, so it commutes with max pooling. Internal.
#pragma once

#include <cmath>
#include <string>

#include "framework/base/error.h"
#include "framework/base/host_device.h"
#include "framework/tensor/keep_nan.h"

namespace lenslet {

/// The end of a refusal to fuse a layer.
inline constexpr const char* kLeaveUnfused = ": use a backend that does, or leave that layer unfused";

/// By default it changes nothing. The bits are those of the layer that it stands for; a NaN stays a NaN.
struct Rectifier {
  float slope = 1;  ///< Factor of negative values, not negative; at 0 they become 0, also an infinity.
  float ceiling = INFINITY;  ///< The largest result, not negative.

  Rectifier() = default;
  /// ReLU or nothing.
  Rectifier(bool relu) : slope(relu ? 0.0f : 1.0f) {}
  Rectifier(float slope_below, float largest) : slope(slope_below), ceiling(largest) {}

  bool none() const { return slope == 1 && std::isinf(ceiling); }  ///< Whether it changes nothing.
  bool relu() const { return slope == 0 && std::isinf(ceiling); }  ///< Whether it is max(x, 0).
  /// "ReLU", "none", "max(x, 0.1 * x)", or "min(max(x, 0), 6)".
  std::string to_string() const {
    if (none() || relu()) return none() ? "none" : "ReLU";
    const std::string below = slope == 0 ? "max(x, 0)" : concat("max(x, ", slope, " * x)");
    return std::isinf(ceiling) ? below : concat("min(", below, ", ", ceiling, ")");
  }
  /// The function of one value.
  LENSLET_HOST_DEVICE float of(float x) const {
    const float scaled = slope * x;  // without a condition, so that loops vectorise
    const float below = slope == 0.0f ? 0.0f : scaled;
    const float y = x < 0.0f ? below : x;
    return y > ceiling ? ceiling : y;
  }
};

}  // namespace lenslet
