// Thresholds were chosen by hand, on the drawn 66 of Numbers.AreCutWhereDigitsTouchWithAWarning in tests/models, which
// holds them, and on pairs of MNIST's training digits outside of the tree.
#include "models/digit/mark_cuts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/digit/digit_placing.h"

namespace lenslet {
namespace {

constexpr float kHardInk = 0.25f;  // of the ink's level, above its floor: less is a soft edge
// Width of a narrow digit, as a share of its height. As many parts are tried as narrow digits fit into the mark.
constexpr double kNarrowDigit = 0.45;
// Cuts into parts of equal width: each may move by this share of a part to the column with the least ink.
constexpr double kCutReach = 0.3;
// Cuts into two digits of unlike widths: where they are tried, and how far each may move to the column with the least
// ink. Both are shares of the mark's width.
constexpr double kUnevenCuts[] = {0.33, 0.42, 0.58, 0.67}, kUnevenReach = 0.06;
constexpr int kMinColumns = 3;  // least width of a part, pixels

// Rows and columns of the ink within a part of the plane.
Box box_of_ink(const Ink& own) {
  Box box{own.depth.width, own.depth.height, 0, 0};
  for (int y = 0; y < own.depth.height; ++y) {
    for (int x = 0; x < own.depth.width; ++x) {
      if (!(own.depth.at(x, y) > own.floor + kHardInk * own.level)) continue;
      box = {std::min(box.x0, x), std::min(box.y0, y), std::max(box.x1, x + 1), std::max(box.y1, y + 1)};
    }
  }
  return box.x1 > box.x0 ? box : own.box;
}

}  // namespace

Box in_picture(const Ink& ink, const Box& box, const Picture& picture) {
  const auto x = [&](int v) { return std::min(ink.left + v * ink.factor, picture.width); };
  const auto y = [&](int v) { return std::min(ink.top + v * ink.factor, picture.height); };
  return {x(box.x0), y(box.y0), x(box.x1), y(box.y1)};
}

Ink ink_of(const Ink& ink, const MarkGroup& group, const Box& part) {
  Ink own;
  own.level = ink.level;
  own.floor = ink.floor;
  own.depth = Plane(part.width() + 2, part.height() + 2);
  own.box = {1, 1, part.width() + 1, part.height() + 1};
  std::vector<uint8_t> wanted(ink.marks.size() + 1, 0);
  for (const size_t mark : group.marks) wanted[mark + 1] = 1;
  for (int y = part.y0; y < part.y1; ++y) {
    for (int x = part.x0; x < part.x1; ++x) {
      const size_t i = ink.depth.index(x, y);
      if (wanted[static_cast<size_t>(ink.labels[i])])
        own.depth.at(x - part.x0 + 1, y - part.y0 + 1) = ink.depth.values[i];
    }
  }
  return own;
}

std::vector<std::vector<DigitMark>> cuts_of(const Ink& ink, const MarkGroup& group, const Picture& picture) {
  const Box& box = group.box;
  const Ink whole = ink_of(ink, group, box);
  std::vector<double> crossed(static_cast<size_t>(box.width()), 0);  // ink of each column
  for (int x = 0; x < box.width(); ++x) {
    for (int y = 0; y < box.height(); ++y) crossed[static_cast<size_t>(x)] += whole.depth.at(x + 1, y + 1);
  }
  const auto cut_near = [&](double share, double reach) {  // the column with the least ink
    int best = static_cast<int>(share * box.width());
    double min_cost = HUGE_VAL;
    for (int x = static_cast<int>((share - reach) * box.width()); x <= (share + reach) * box.width(); ++x) {
      if (x < 1 || x >= box.width()) continue;
      const double off = std::abs(x - share * box.width()) / box.width();
      const double cost = crossed[static_cast<size_t>(x)] * (1 + off);
      if (cost < min_cost) best = x, min_cost = cost;
    }
    return best;
  };
  std::vector<std::vector<int>> ways;
  const int max_parts =
      std::clamp(static_cast<int>(std::lround(box.width() / (kNarrowDigit * box.height()))), 2, kMaxParts);
  for (int parts = 2; parts <= max_parts; ++parts) {
    std::vector<int> way;
    for (int k = 1; k < parts; ++k)
      way.push_back(cut_near(static_cast<double>(k) / parts, kCutReach / parts));
    ways.push_back(std::move(way));
  }
  for (const double share : kUnevenCuts) ways.push_back({cut_near(share, kUnevenReach)});
  std::vector<std::vector<DigitMark>> cuts;
  for (std::vector<int>& way : ways) {
    way.push_back(box.width());
    std::vector<DigitMark> digits;
    int from = 0;
    for (const int to : way) {
      if (to - from < kMinColumns) break;
      const Box part{box.x0 + from, box.y0, box.x0 + to, box.y1};
      Ink own = ink_of(ink, group, part);
      own.box = box_of_ink(own);
      DigitMark mark;
      mark.box = in_picture(ink,
                            {part.x0 + own.box.x0 - 1, part.y0 + own.box.y0 - 1, part.x0 + own.box.x1 - 1,
                             part.y0 + own.box.y1 - 1},
                            picture);
      mark.digit = place_digit(own);
      if (mark.digit.blank || own.box.height() < kMinDigitHeight * box.height()) break;
      digits.push_back(std::move(mark));
      from = to;
    }
    if (from == box.width()) cuts.push_back(std::move(digits));
  }
  return cuts;
}

}  // namespace lenslet
