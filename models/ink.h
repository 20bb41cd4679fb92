// Internal to models: separates the ink of a picture from its paper, for any light, colours and polarity.
#pragma once

#include <string>
#include <vector>

#include "framework/io/image.h"
#include "models/plane.h"

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

/// A picture with alpha over white (over black if only that shows anything), reduced by an integer factor so that no
/// side is longer than `max_side`, as grey planes of 0 to 255.
struct GreyPlanes {
  std::vector<Plane> planes;  // luma, then red, green and blue if the picture has colour
  int factor = 1;             // pixels of the picture per pixel of the planes, in both directions
  bool over_black = false;
};
GreyPlanes grey_planes(const Image& image, int max_side);

/// Separates ink and paper. Fits the paper to the edge region of the picture, then to all pixels without ink. The side
/// with the larger differences decides the polarity. Ignores frames, shadows and specks.
Ink find_ink(const GreyPlanes& grey);

}  // namespace lenslet
