// Internal to models: separates the ink of a picture from its paper, for any light, colours and polarity.
#pragma once

#include <string>
#include <vector>

#include "models/digit/grey_planes.h"
#include "models/digit/plane.h"

namespace lenslet {

// Grey levels. A difference below kMinLevel is not ink, even without noise. Ink below kFaintLevel gets a warning.
inline constexpr float kMinLevel = 14, kFaintLevel = 50;
inline constexpr double kMinDigit = 0.12;  // longer side of a digit, of the picture's shorter side
inline constexpr float kMinGate = 5;       // largest difference within the paper of a clean picture
// Limits in sigmas of the paper's noise: it exceeds kNoiseSigmas at times and kInkSigmas hardly ever. If it is normal,
// 1 of 700 and 1 of 30,000 pixels lie beyond them on the side of the ink.
inline constexpr float kNoiseSigmas = 3, kInkSigmas = 4;

/// Difference of each pixel from the paper towards the ink, in grey levels.
struct Depth {
  Plane plane;      // 0 = paper
  float sigma = 0;  // of the paper's texture and noise
};
/// Fits the paper to the edge region of the picture, then to all pixels without ink. The side with the larger
/// differences decides the polarity. Adds the steps "alpha", "grey", "paper", "light" and "polarity", in this order.
Depth depth_on_paper(const GreyPlanes& grey, std::vector<std::string>& steps);

}  // namespace lenslet
