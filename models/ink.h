// Internal to models: the ink of a picture, apart from its paper, whatever the light, the colours and the
// polarity.
#pragma once

#include <string>
#include <vector>

#include "framework/io/image.h"
#include "models/plane.h"

namespace lenslet {

/// What is written on a picture's paper.
struct Ink {
  Plane depth;      // grey levels by which a pixel differs from the paper towards the ink, 0 = paper
  float level = 0;  // depth of full ink; 0: there is none
  float floor = 0;  // depth up to which a pixel is paper: noise, texture, what JPEG leaves around strokes
  Box box;          // of the marks kept
  bool clear_edge = true;  // no mark touches the edge of the picture
  std::vector<std::string> steps, warnings;
};

/// A picture with alpha over white (over black where only that shows anything), reduced by whole factors so
/// that no side is longer than `max_side`, as grey planes of 0 to 255.
struct GreyPlanes {
  std::vector<Plane> planes;  // luma, then red, green and blue where the picture has colour
  int factor = 1;             // pixels of the picture for one of the planes', in both directions
  bool over_black = false;
};
GreyPlanes grey_planes(const Image& image, int max_side);

/// Separates ink and paper: the paper is fitted to the picture's edge region, then to all that is not ink;
/// what differs from it most decides the polarity; frames, shadows and specks are left out.
Ink find_ink(const GreyPlanes& grey);

}  // namespace lenslet
