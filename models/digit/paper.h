// Internal to models: separates the ink of a picture from its paper, for any light, colours and polarity.
#pragma once

#include <string>
#include <vector>

#include "framework/io/picture.h"
#include "models/digit/plane.h"

namespace lenslet {

// Grey levels. A difference below kMinLevel is not ink, even without noise. Ink below kFaintLevel gets a warning.
inline constexpr float kMinLevel = 14, kFaintLevel = 50;
inline constexpr double kMinDigit = 0.12;  // longer side of a digit, of the picture's shorter side
inline constexpr float kMinGate = 5;       // largest difference within the paper of a clean picture

/// A part of a picture with alpha over white (over black if only that shows anything), reduced by an integer factor so
/// that no side is longer than `max_side`, as grey planes of 0 to 255.
struct GreyPlanes {
  std::vector<Plane> planes;  // luma, then red, green and blue if the picture has colour
  int factor = 1;             // pixels of the picture per pixel of the planes, in both directions
  bool over_black = false;
};
GreyPlanes grey_planes(const Picture& picture, const Box& part, int max_side);
/// The planes of the whole picture.
inline GreyPlanes grey_planes(const Picture& picture, int max_side) {
  return grey_planes(picture, {0, 0, picture.width, picture.height}, max_side);
}

/// Difference of each pixel from the paper towards the ink, in grey levels.
struct Depth {
  Plane plane;      // 0 = paper
  float sigma = 0;  // of the paper's texture and noise
};
/// Fits the paper to the edge region of the picture, then to all pixels without ink. The side with the larger
/// differences decides the polarity. Adds the steps "alpha", "grey", "light" and "polarity".
Depth depth_on_paper(const GreyPlanes& grey, std::vector<std::string>& steps);

}  // namespace lenslet
