// Thresholds were chosen by hand, on the number of a drawn whiteboard with a strong reflection, which
// NumberRetakes.FaintPartsOfAReflectionAreStrengthened in tests/models reads; with a weak one nothing may change.
#include "models/digit/mark_retakes.h"

#include <algorithm>
#include <cmath>

namespace lenslet {
namespace {

constexpr double kReach = 0.08;  // of the digit's height: the stroke's depth is the largest within it
constexpr float kFaint = 0.55f;  // of the level: strokes below it are faint
constexpr float kMinShareOfLevel = 0.2f;  // of the level: less is paper
constexpr double kMinFaintInk = 0.12;     // share of the ink that is faint: from here on the ink is uneven
// Strokes fainter than kLost times the paper's floor cannot be told from paper. If more than kMaxLostInk of the ink is
// below it, the rest of the digit may be lost too: no retake.
constexpr float kLost = 2;
constexpr double kMaxLostInk = 0.01;

// The largest value within `reach` columns, or rows, of each pixel.
Plane largest_within(const Plane& in, int reach, bool columns) {
  Plane out(in.width, in.height);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      float max_value = 0;
      for (int k = -reach; k <= reach; ++k) {
        const int nx = std::clamp(columns ? x + k : x, 0, in.width - 1);
        const int ny = std::clamp(columns ? y : y + k, 0, in.height - 1);
        max_value = std::max(max_value, in.at(nx, ny));
      }
      out.at(x, y) = max_value;
    }
  }
  return out;
}

}  // namespace

double slant_of(const Ink& own) {
  double mass = 0, x0 = 0, y0 = 0, xy = 0, yy = 0;
  const auto for_each = [&](auto&& body) {
    for (int y = 0; y < own.depth.height; ++y) {
      for (int x = 0; x < own.depth.width; ++x) body(x, y, static_cast<double>(own.depth.at(x, y)));
    }
  };
  for_each([&](int x, int y, double depth) { mass += depth, x0 += depth * x, y0 += depth * y; });
  if (mass == 0) return 0;
  x0 /= mass, y0 /= mass;
  for_each([&](int x, int y, double depth) {
    xy += depth * (x - x0) * (y - y0);
    yy += depth * (y - y0) * (y - y0);
  });
  return yy == 0 ? 0 : -xy / yy;
}

Ink upright(const Ink& own, double slant) {
  Ink ink;
  ink.level = own.level;
  ink.floor = own.floor;
  const double max_shift = std::abs(slant) * (own.depth.height - 1);
  ink.depth = Plane(own.depth.width + static_cast<int>(std::ceil(max_shift)) + 1, own.depth.height);
  Box box{ink.depth.width, ink.depth.height, 0, 0};
  for (int y = 0; y < ink.depth.height; ++y) {
    const double shift = slant > 0 ? slant * y : max_shift + slant * y;
    for (int x = 0; x < ink.depth.width; ++x) {
      const double from = x - shift;
      const int left = static_cast<int>(std::floor(from));
      const auto share = static_cast<float>(from - left);
      const auto depth = [&](int column) {
        return column < 0 || column >= own.depth.width ? 0.0f : own.depth.at(column, y);
      };
      const float value = (1 - share) * depth(left) + share * depth(left + 1);
      ink.depth.at(x, y) = value;
      if (!(value > ink.floor)) continue;
      box = {std::min(box.x0, x), std::min(box.y0, y), std::max(box.x1, x + 1), std::max(box.y1, y + 1)};
    }
  }
  ink.box = box.x1 > box.x0 ? box : Box{0, 0, ink.depth.width, ink.depth.height};
  return ink;
}

std::optional<Ink> evened(const Ink& own) {
  const int reach = std::max(2, static_cast<int>(std::lround(kReach * own.box.height())));
  const Plane local = largest_within(largest_within(own.depth, reach, true), reach, false);
  Ink ink = own;
  size_t all = 0, faint = 0, lost = 0;
  for (size_t i = 0; i < ink.depth.values.size(); ++i) {
    float& depth = ink.depth.values[i];
    if (!(depth > own.floor)) continue;
    ++all;
    faint += local.values[i] < kFaint * own.level;
    lost += local.values[i] < kLost * own.floor;
    depth *= own.level / std::max(local.values[i], kMinShareOfLevel * own.level);
  }
  const auto ink_share = [&](size_t pixels) {
    return static_cast<double>(pixels) / static_cast<double>(all);
  };
  if (all == 0 || ink_share(faint) < kMinFaintInk || ink_share(lost) > kMaxLostInk) return std::nullopt;
  return ink;
}

}  // namespace lenslet
