// Thresholds were chosen by hand, on the drawn pictures of tests/models. The tests that hold them:
//
// | thresholds | tests |
// |---|---|
// | strokes of one digit | NumberSigns.SlantedOnesStayTwo, NumberSigns.StrokesOfOneDigitStayOne |
// | the flag of a 5, a dash, a point | Numbers.AreRefusedForMarksThatAreNoDigits |
// | a second digit, a degree sign | NumberSigns.SmallSignsAtTheUpperRightAreReported |
// | an underline, a long dash | Numbers.AreReadWithoutTheirUnderline, NumberSigns.LongDashesAreNoUnderlines |
#include "models/digit/mark_groups.h"

#include <algorithm>
#include <utility>

namespace lenslet {
namespace {

// Shares of the digits' height.
constexpr double kSmallWidth = 0.6;  // a mark less wide than this, and lower than kSmallHeight, is too small
constexpr double kNear = 0.12;       // largest gap between a digit and a small stroke of it
constexpr double kLineHeight = 0.3, kLineWidth = 1.4;  // an underline is lower and wider than these
constexpr double kTwoRows = 0.6;           // strokes that share more rows than this may be two digits
constexpr double kMaxStrokesHeight = 1.5;  // of the strokes of one digit together
// Shares of other lengths.
constexpr double kSideBySide = 0.8;  // marks that share more of their common height are two digits
constexpr double kFlagTop = 0.4;     // the flag of a 5 is within this part of the digit's height, from above
constexpr double kOverEachOther = 0.5;  // strokes that share more of the narrower one are above each other
// A mark that shares at most this part of its rows is above or below the others; of its columns, beside them.
constexpr double kHardlyShared = 0.25;
constexpr int kLineAspect = 3;  // width over height from which a mark is a line, not a digit

// Whether two marks are strokes of one digit: one above the other, or a small stroke beside a large one.
bool belong_together(const MarkGroup& a, const MarkGroup& b, double height) {
  const double narrower = std::min(a.box.width(), b.box.width());
  const Box both = united(a.box, b.box);
  if (both.height() > kMaxStrokesHeight * height) return false;
  if (shared_rows(a.box, b.box) > kSideBySide * both.height()) return false;  // slanted digits share columns
  if (shared_columns(a.box, b.box) > kOverEachOther * narrower) return true;
  // The flag of a 5 is at the top; a point or a dash is not.
  const MarkGroup& small = a.box.longer() < b.box.longer() ? a : b;
  const MarkGroup& large = a.box.longer() < b.box.longer() ? b : a;
  const bool at_top = small.box.y1 < large.box.y0 + kFlagTop * large.box.height();
  return is_small(small.box, height) && at_top && -shared_columns(a.box, b.box) < kNear * height &&
         -shared_rows(a.box, b.box) < kNear * height;
}

// Height of the digits: the median of the marks except lines, since an underline may be most of the ink. 0 if all marks
// are lines.
double upright_height(const std::vector<MarkGroup>& groups) {
  std::vector<MarkGroup> upright;
  for (const MarkGroup& group : groups) {
    if (group.box.height() * kLineAspect > group.box.width()) upright.push_back(group);
  }
  return digit_height(upright);
}

void warn_of_left_out(PictureWarnings& warnings) {
  warnings.add(PictureWarning::kMarkLeftOut, "a line or speck above or below the digits was left out");
}

}  // namespace

int shared_columns(const Box& a, const Box& b) { return std::min(a.x1, b.x1) - std::max(a.x0, b.x0); }
int shared_rows(const Box& a, const Box& b) { return std::min(a.y1, b.y1) - std::max(a.y0, b.y0); }

double digit_height(const std::vector<MarkGroup>& groups) {
  std::vector<std::pair<int, double>> heights;
  double mass = 0;
  for (const MarkGroup& group : groups) {
    heights.emplace_back(group.box.height(), group.mass);
    mass += group.mass;
  }
  std::sort(heights.begin(), heights.end());
  double sum = 0;
  for (const auto& [height, of_group] : heights) {
    sum += of_group;
    if (2 * sum >= mass) return height;
  }
  return 0;
}

bool is_small(const Box& box, double height) {
  return box.height() < kSmallHeight * height && box.width() < kSmallWidth * height;
}

bool is_flat(const Box& box, double height) { return box.height() < kLineHeight * height; }

std::vector<MarkGroup> group_marks(std::vector<MarkGroup> groups) {
  const double height = digit_height(groups);
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t k = i + 1; k < groups.size(); ++k) {
        if (!belong_together(groups[i], groups[k], height)) continue;
        groups[i].box = united(groups[i].box, groups[k].box);
        groups[i].mass += groups[k].mass;
        groups[i].marks.insert(groups[i].marks.end(), groups[k].marks.begin(), groups[k].marks.end());
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
        merged = true;
        --k;
      }
    }
  }
  std::sort(groups.begin(), groups.end(), [](const MarkGroup& a, const MarkGroup& b) {
    return std::pair(a.box.x0 + a.box.x1, a.box.y0) < std::pair(b.box.x0 + b.box.x1, b.box.y0);
  });
  return groups;
}

void leave_out_lines(std::vector<MarkGroup>& groups, PictureWarnings& warnings) {
  const double height = upright_height(groups);
  if (height == 0) return;
  std::vector<Box> upright;
  for (const MarkGroup& group : groups) {
    if (!is_flat(group.box, height)) upright.push_back(group.box);
  }
  const auto is_line = [&](const MarkGroup& line) {
    if (!is_flat(line.box, height) || line.box.width() <= kLineWidth * height) return false;
    int columns = 0, rows = 0;  // that upright marks share with it
    for (const Box& box : upright) {
      columns += std::max(shared_columns(box, line.box), 0);
      rows = std::max(rows, shared_rows(box, line.box));
    }
    return rows <= kHardlyShared * line.box.height() || 2 * columns > line.box.width();
  };
  const auto lines = std::remove_if(groups.begin(), groups.end(), is_line);
  if (lines == groups.end()) return;
  groups.erase(lines, groups.end());
  warn_of_left_out(warnings);
}

void leave_out_specks(std::vector<MarkGroup>& groups, PictureWarnings& warnings) {
  const double height = upright_height(groups);
  if (height == 0) return;
  Box row{0, 0, 0, 0};
  for (const MarkGroup& group : groups) {
    if (!is_small(group.box, height)) row = united(row, group.box);
  }
  const auto is_beside = [&](const MarkGroup& group) {
    return is_small(group.box, height) && shared_rows(group.box, row) <= kHardlyShared * group.box.height();
  };
  const auto specks = std::remove_if(groups.begin(), groups.end(), is_beside);
  if (specks == groups.end()) return;
  groups.erase(specks, groups.end());
  warn_of_left_out(warnings);
}

bool is_one_row(const std::vector<MarkGroup>& groups) {
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    const Box &a = groups[i].box, &b = groups[i + 1].box;
    if (shared_rows(a, b) <= 0) return false;
  }
  return true;
}

bool stand_apart(const Ink& ink, const std::vector<size_t>& marks) {
  for (const size_t mark : marks) {
    const Box& a = ink.marks[mark].box;
    const bool apart = std::all_of(marks.begin(), marks.end(), [&](size_t other) {
      const Box& b = ink.marks[other].box;
      const double gap = kMarkGap * std::max(a.longer(), b.longer());
      return other == mark || -shared_columns(a, b) > gap || -shared_rows(a, b) > gap;
    });
    if (apart && marks.size() > 1) return true;
  }
  return false;
}

bool may_be_two(const Ink& ink, const std::vector<size_t>& marks, double height) {
  for (const size_t one : marks) {
    for (const size_t other : marks) {
      const Box &a = ink.marks[one].box, &b = ink.marks[other].box;
      if (one == other || a.longer() > b.longer()) continue;
      if (!is_small(a, height)) {
        if (shared_rows(a, b) > kTwoRows * height) return true;
        continue;
      }
      // The flag of a 5 is flat and above its bowl.
      const bool upper_right = a.x0 + a.x1 > b.x0 + b.x1 && 2 * a.y1 < b.y0 + b.y1;
      const bool beside = shared_columns(a, b) <= kHardlyShared * a.width();
      if (upper_right && (beside || 2 * a.height() > a.width())) return true;
    }
  }
  return false;
}

}  // namespace lenslet
