// Thresholds were chosen by hand, on a number written by a thick and a thin pen on squared paper, with lines of 2.2 to
// 3.3 pixels. NumberRetakes.PrintedLinesAreNoStrokes in tests/models holds them.
#include "models/digit/ruled_lines.h"

#include <algorithm>
#include <cstddef>

#include "models/digit/paper.h"

namespace lenslet {
namespace {

constexpr double kAcross = 0.95;  // of a side of the picture: a mark at least as long goes from edge to edge
constexpr double kThicker = 1.4;  // strokes are at least so many times as thick as the lines
constexpr int kMaxLineWidth = 7;  // pixels

bool crosses(const Box& box, const Plane& plane) {
  return box.width() >= kAcross * plane.width || box.height() >= kAcross * plane.height;
}

// Whether a box is so narrow that it can only hold a piece of a line along an axis, of at most `side` + 1 pixels.
bool is_straight(const Box& box, int side) { return std::min(box.width(), box.height()) <= side + 1; }

// 1 for the pixels whose square of 2 reach + 1 pixels a side is all ink (`erode`) or has any ink (dilate); else 0.
Plane squares(const Plane& in, int reach, bool erode) {
  const float wanted = erode ? 0.0f : 1.0f;
  Plane rows(in.width, in.height), out(in.width, in.height);
  const auto has = [&](const Plane& plane, int x, int y) {
    return x >= 0 && y >= 0 && x < plane.width && y < plane.height ? plane.at(x, y) : 0.0f;
  };
  const auto pass = [&](const Plane& from, Plane& to, int dx, int dy) {
    for (int y = 0; y < from.height; ++y) {
      for (int x = 0; x < from.width; ++x) {
        bool found = false;
        for (int k = -reach; k <= reach && !found; ++k) found = has(from, x + k * dx, y + k * dy) == wanted;
        to.at(x, y) = found ? wanted : 1 - wanted;
      }
    }
  };
  pass(in, rows, 1, 0);
  pass(rows, out, 0, 1);
  return out;
}

// The strokes' mean width: twice the area over the length of the outline, whose steps along rows and columns are
// counted.
double grid_stroke_width(const Plane& ink) {
  double area = 0, outline = 0;
  for (int y = 0; y < ink.height; ++y) {
    for (int x = 0; x < ink.width; ++x) {
      if (ink.at(x, y) == 0) continue;
      ++area;
      outline += x == 0 || ink.at(x - 1, y) == 0;
      outline += x + 1 == ink.width || ink.at(x + 1, y) == 0;
      outline += y == 0 || ink.at(x, y - 1) == 0;
      outline += y + 1 == ink.height || ink.at(x, y + 1) == 0;
    }
  }
  return outline == 0 ? 0 : 2 * area / (kOutlinePerStep * outline);
}

}  // namespace

bool remove_ruled_lines(Plane& depth, const Component& mark, const std::vector<int32_t>& labels,
                        int32_t label) {
  if (!mark.at_border || !crosses(mark.box, depth)) return false;
  Plane ink(depth.width, depth.height);
  for (size_t i = 0; i < labels.size(); ++i) ink.values[i] = labels[i] == label ? 1.0f : 0.0f;
  const double min_side = kMinDigit * std::min(depth.width, depth.height);
  for (int side = 3; side <= kMaxLineWidth; side += 2) {
    const int reach = side / 2;
    Plane strokes = squares(squares(ink, reach, true), reach, false);
    std::vector<int32_t> parts_of;
    std::vector<Component> parts = connected_components(strokes, 0.5f, parts_of);
    // Remove pieces of a line that is a little wider there.
    for (size_t i = 0; i < parts_of.size(); ++i) {
      if (parts_of[i] > 0 && is_straight(parts[static_cast<size_t>(parts_of[i] - 1)].box, side))
        strokes.values[i] = 0;
    }
    parts = connected_components(strokes, 0.5f, parts_of);
    const auto any = [&](auto&& holds) {
      return std::any_of(parts.begin(), parts.end(), [&](const Component& part) { return holds(part.box); });
    };
    if (!any([&](const Box& box) { return box.longer() >= min_side; })) return false;  // nothing but lines
    if (any([&](const Box& box) { return crosses(box, depth); })) continue;
    if (grid_stroke_width(strokes) < kThicker * side) return false;  // a pen as thin as the lines
    const Plane near = squares(strokes, 1, false);                   // with the soft edge of the strokes
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == label && near.values[i] == 0) depth.values[i] = 0;
    }
    return true;
  }
  return false;
}

}  // namespace lenslet
