// Internal to models: finds the marks of a digit among the ink of a picture.
// docs/decisions/digit_thresholds.md explains where the thresholds of models/digit come from.
#pragma once

#include <string>
#include <vector>

#include "framework/io/picture.h"
#include "models/digit/grey_planes.h"
#include "models/digit/picture_warning.h"
#include "models/digit/plane.h"

namespace lenslet {

/// Two marks stand apart if their gap is more than this share of the larger one's longer side.
inline constexpr double kMarkGap = 0.06;
/// Least height of a digit of a number, as a share of the highest digit's. A lower mark belongs to another number or is
/// a fragment.
inline constexpr double kMinDigitHeight = 0.6;

/// The ink of a picture, or of a part of it.
struct Ink {
  Plane depth;      // grey levels by which a pixel differs from the paper towards the ink, 0 = paper
  float level = 0;  // depth of full ink; 0: there is none
  float floor = 0;  // depth up to which a pixel is paper: noise, texture, JPEG artefacts around strokes
  Box box;          // of the marks kept
  std::vector<Component> marks;  // those kept: connected strokes
  std::vector<Box> points;       // marks as dark as those kept, but small: points of a pen, or dust
  std::vector<int32_t> labels;   // for each pixel of depth: 1 + the number of its mark, or 0
  int left = 0, top = 0;         // where depth begins in the picture, pixels
  int factor = 1;                // pixels of the picture per pixel of depth, in both directions
  float noise = 0;  // standard deviation of the paper's noise, grey levels; 0 unless `level` is 0
  std::vector<std::string> steps;
  PictureWarnings warnings;
};

/// Finds the ink of a reduced picture, then of a part of it at a higher resolution if the marks are too small.
Ink find_ink(const Picture& picture);

/// Separates ink from paper (models/digit/paper.h) and removes frames, shadows and specks. Its steps are those of
/// depth_on_paper(), then "ink".
Ink find_ink(const GreyPlanes& grey);

}  // namespace lenslet
