#include "models/digit/ink_picture.h"

#include <algorithm>
#include <cmath>

#include "models/digit/number_of_ink.h"

namespace lenslet {
namespace {

Picture picture_of(const Ink& ink, int longest) {
  if (ink.level == 0) return {};
  Plane depth = ink.depth;
  for (size_t i = 0; i < depth.values.size(); ++i) {
    const float share = ink.labels[i] == 0 ? 0 : depth.values[i] / ink.level;
    depth.values[i] = 255 * std::clamp(share, 0.0f, 1.0f);
  }
  const Box whole{0, 0, depth.width, depth.height};
  const double scale = std::min(1.0, double{1} * longest / whole.longer());
  const auto side = [&](int size) { return std::max(1, static_cast<int>(std::lround(size * scale))); };
  const Plane small = resize(depth, whole, side(depth.width), side(depth.height));
  Picture picture{small.width, small.height, 1, {}, "PNG"};
  for (const float value : small.values)
    picture.pixels.push_back(static_cast<uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f))));
  return picture;
}

}  // namespace

NumberMarks prepare_number(const Picture& picture, int longest, Picture& ink) {
  if (has_digits_form(picture)) {
    ink = {};
    return prepare_number(picture);
  }
  const Ink found = find_ink(picture);
  ink = picture_of(found, longest);
  return number_of_ink(picture, found);
}

}  // namespace lenslet
