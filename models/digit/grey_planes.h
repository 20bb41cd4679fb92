// Internal to models: a part of a picture, averaged to a limited size, as planes of grey and of each colour over an
// opaque background.
#pragma once

#include <vector>

#include "framework/io/picture.h"
#include "models/digit/plane.h"

namespace lenslet {

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

}  // namespace lenslet
