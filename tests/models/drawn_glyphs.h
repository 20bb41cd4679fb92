// The shapes of digits and a few other characters, as strokes of a pen.
#pragma once

#include <utility>
#include <vector>

namespace lenslet::test {

struct Glyph {
  double aspect;                                                // width to height
  std::vector<std::vector<std::pair<double, double>>> strokes;  // points in a box from 0 to 1, y downwards
};

/// The glyph of one of "0" to "9", letters of "AEHKX", and "?+=/:-.".
const Glyph& glyph(char character);

}  // namespace lenslet::test
