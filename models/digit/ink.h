// Internal to models: finds the marks of a digit among the ink of a picture.
#pragma once

#include <string>
#include <vector>

#include "framework/io/image.h"
#include "models/digit/paper.h"
#include "models/digit/plane.h"

namespace lenslet {

/// The ink of a picture.
struct Ink {
  Plane depth;      // grey levels by which a pixel differs from the paper towards the ink, 0 = paper
  float level = 0;  // depth of full ink; 0: there is none
  float floor = 0;  // depth up to which a pixel is paper: noise, texture, JPEG artefacts around strokes
  Box box;          // of the marks kept
  bool clear_edge = true;  // no mark touches the edge of the picture
  std::vector<std::string> steps, warnings;
};

/// Finds the ink of a reduced picture, then of a part of it at a higher resolution if the digit is too small or lies on
/// a sheet of paper that was taken for ink.
Ink find_ink(const Image& image);

/// Separates ink from paper (models/digit/paper.h) and ignores frames, shadows and specks. Adds the step "ink" to the
/// steps of paper.
Ink find_ink(const GreyPlanes& grey);

}  // namespace lenslet
