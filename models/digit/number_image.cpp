#include "models/digit/number_image.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

#include "framework/base/error.h"
#include "models/digit/digit_placing.h"

namespace lenslet {
namespace {

constexpr size_t kMostStrokes = 120;  // marks of ink: more are a texture
// Shares of the digits' height.
constexpr double kSmallHeight = 0.4, kSmallWidth = 0.6;  // a mark within both is too small for a digit
constexpr double kNear = 0.12;                           // gap to a mark that belongs to the same digit
constexpr double kSideBySide = 0.8;                      // rows that two digits share, of both
constexpr double kWide = 0.75;                           // width of a mark that may be several digits
constexpr double kLineHeight = 0.3, kLineWidth = 1.4;    // an underline is flatter and longer
constexpr double kWideGap = 1.2;                         // between two digits of one number
constexpr double kTwoRows = 0.6;                         // rows that two strokes share and may be two digits
constexpr double kPointNear = 0.6;                       // gap from a digit to a point
constexpr double kPointLow = 0.4;                        // part of the row, from below, with a point
constexpr double kUnevenHeight = 0.6;                    // of the lowest digit, of the highest

// Marks that belong to one digit.
struct Group {
  Box box;
  double mass = 0;
  std::vector<size_t> marks;  // of the ink
};

int shared(int a0, int a1, int b0, int b1) { return std::min(a1, b1) - std::max(a0, b0); }
int shared_columns(const Box& a, const Box& b) { return shared(a.x0, a.x1, b.x0, b.x1); }
int shared_rows(const Box& a, const Box& b) { return shared(a.y0, a.y1, b.y0, b.y1); }

Box united(const Box& a, const Box& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

Box in_picture(const Ink& ink, const Box& box, const Image& image) {
  const auto x = [&](int v) { return std::min(ink.left + v * ink.factor, image.width); };
  const auto y = [&](int v) { return std::min(ink.top + v * ink.factor, image.height); };
  return {x(box.x0), y(box.y0), x(box.x1), y(box.y1)};
}

// Height of the digits: the median height of the ink.
double digit_height(const std::vector<Group>& groups) {
  std::vector<std::pair<int, double>> heights;
  double mass = 0;
  for (const Group& group : groups) {
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

// Whether two marks are strokes of one digit: one above the other, or a small stroke beside a large one.
bool belong_together(const Group& a, const Group& b, double height) {
  const double narrower = std::min(a.box.width(), b.box.width());
  const Box both = united(a.box, b.box);
  if (both.height() > 1.5 * height) return false;
  if (shared_rows(a.box, b.box) > kSideBySide * both.height()) return false;  // slanted digits share columns
  if (shared_columns(a.box, b.box) > 0.5 * narrower) return true;
  // The flag of a 5 is at the top; a point or a dash is not.
  const Group& small = a.box.longer() < b.box.longer() ? a : b;
  const Group& large = a.box.longer() < b.box.longer() ? b : a;
  const bool at_top = small.box.y1 < large.box.y0 + 0.4 * large.box.height();
  return is_small(small.box, height) && at_top && -shared_columns(a.box, b.box) < kNear * height &&
         -shared_rows(a.box, b.box) < kNear * height;
}

// Height of the digits: the median of marks that are no lines, since an underline may be most of the ink. 0: all are.
double upright_height(const std::vector<Group>& groups) {
  std::vector<Group> upright;
  for (const Group& group : groups) {
    if (group.box.height() * 3 > group.box.width()) upright.push_back(group);
  }
  return digit_height(upright);
}

std::vector<Group> group_marks(std::vector<Group> groups) {
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
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(a.box.x0 + a.box.x1, a.box.y0) < std::pair(b.box.x0 + b.box.x1, b.box.y0);
  });
  return groups;
}

void warn_of_left_out(PictureWarnings& warnings) {
  warnings.add(PictureWarning::kMarkLeftOut, "a line or speck above or below the digits was left out");
}

bool is_flat(const Box& box, double height) { return box.height() < kLineHeight * height; }

// Removes underlines, before they are taken for a stroke of the digit above. A dash beside the digits is none.
void leave_out_lines(std::vector<Group>& groups, PictureWarnings& warnings) {
  const double height = upright_height(groups);
  if (height == 0) return;
  std::vector<Box> upright;
  for (const Group& group : groups) {
    if (!is_flat(group.box, height)) upright.push_back(group.box);
  }
  const auto is_line = [&](const Group& line) {
    if (!is_flat(line.box, height) || line.box.width() <= kLineWidth * height) return false;
    int columns = 0, rows = 0;  // that upright marks share with it
    for (const Box& box : upright) {
      columns += std::max(shared_columns(box, line.box), 0);
      rows = std::max(rows, shared_rows(box, line.box));
    }
    return rows <= 0.25 * line.box.height() || 2 * columns > line.box.width();
  };
  const auto lines = std::remove_if(groups.begin(), groups.end(), is_line);
  if (lines == groups.end()) return;
  groups.erase(lines, groups.end());
  warn_of_left_out(warnings);
}

// Removes specks above or below the row.
void leave_out_specks(std::vector<Group>& groups, PictureWarnings& warnings) {
  const double height = upright_height(groups);
  if (height == 0) return;
  Box row{0, 0, 0, 0};
  for (const Group& group : groups) {
    if (!is_small(group.box, height)) row = row.width() == 0 ? group.box : united(row, group.box);
  }
  const auto is_beside = [&](const Group& group) {
    return is_small(group.box, height) && shared_rows(group.box, row) <= 0.25 * group.box.height();
  };
  const auto specks = std::remove_if(groups.begin(), groups.end(), is_beside);
  if (specks == groups.end()) return;
  groups.erase(specks, groups.end());
  warn_of_left_out(warnings);
}

// Refuses a number with a point that is too small to be kept as a mark, and warns of other specks in the row of digits.
void judge_points(const Ink& ink, const std::vector<Group>& groups, const Image& image, NumberImage& number) {
  constexpr size_t kMostPoints = 3;  // more are dust
  const double height = digit_height(groups);
  Box row = groups.front().box;
  for (const Group& group : groups) row = united(row, group.box);
  for (const Box& point : ink.points) {
    if (shared_rows(point, row) <= 0) continue;
    const bool over_a_mark = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
      return 2 * shared_columns(point, group.box) > point.width();
    });
    const bool near = -shared_columns(point, row) < kPointNear * height;
    const bool low = point.y0 + point.y1 > 2 * (row.y1 - kPointLow * height);
    if (!over_a_mark && near && low && ink.points.size() <= kMostPoints) {
      const Box box = in_picture(ink, point, image);
      number.refusal = Refusal::kTooSmall;
      number.reason = concat("no number: a mark is too small for a digit: ", box.width(), "x", box.height(),
                             " pixels at ", box.x0, ", ", box.y0);
      return;
    }
    number.warnings.add(PictureWarning::kMarkLeftOut, "a speck beside the digits was left out");
  }
}

// Warns of what may be two numbers, or a number and its exponent.
void warn_of_uneven(const std::vector<Group>& groups, PictureWarnings& warnings) {
  int lowest = INT_MAX, highest = 0, gap = 0;
  const double height = digit_height(groups);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!is_small(groups[i].box, height)) lowest = std::min(lowest, groups[i].box.height());
    highest = std::max(highest, groups[i].box.height());
    if (i > 0) gap = std::max(gap, groups[i].box.x0 - groups[i - 1].box.x1);
  }
  if (gap > kWideGap * highest)
    warnings.add(PictureWarning::kWideGap, "a wide gap between the digits: several numbers, perhaps");
  if (lowest < kUnevenHeight * highest)
    warnings.add(PictureWarning::kUnevenHeights, "digits of different heights: no single number, perhaps");
}

// Whether every mark is beside the others: then it has some rows in common with the next one.
bool is_one_row(const std::vector<Group>& groups) {
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    const Box &a = groups[i].box, &b = groups[i + 1].box;
    if (shared_rows(a, b) <= 0) return false;
  }
  return true;
}

// Whether one of the marks is beside, above or below all others with a gap: a point of "?", or two halves.
bool stand_apart(const Ink& ink, const std::vector<size_t>& marks) {
  for (const size_t mark : marks) {
    const Box& a = ink.marks[mark].box;
    const bool apart = std::all_of(marks.begin(), marks.end(), [&](size_t other) {
      const Box& b = ink.marks[other].box;
      const double gap = 0.06 * std::max(a.longer(), b.longer());
      return other == mark || -shared_columns(a, b) > gap || -shared_rows(a, b) > gap;
    });
    if (apart && marks.size() > 1) return true;
  }
  return false;
}

// Whether a mark taken for a stroke of the digit may be another: a sign at its upper right, or a second digit.
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
      const bool beside = shared_columns(a, b) <= 0.25 * a.width();
      if (upper_right && (beside || 2 * a.height() > a.width())) return true;
    }
  }
  return false;
}

// The ink of some marks, or of a part of their box.
Ink ink_of(const Ink& ink, const Group& group, const Box& part) {
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

// Rows and columns of the ink within a part of the plane.
Box box_of_ink(const Ink& own) {
  Box box{own.depth.width, own.depth.height, 0, 0};
  for (int y = 0; y < own.depth.height; ++y) {
    for (int x = 0; x < own.depth.width; ++x) {
      if (!(own.depth.at(x, y) > own.floor + 0.25f * own.level)) continue;
      box = {std::min(box.x0, x), std::min(box.y0, y), std::max(box.x1, x + 1), std::max(box.y1, y + 1)};
    }
  }
  return box.x1 > box.x0 ? box : own.box;
}

// The ways to cut a wide mark into two or more digits: where little ink is crossed.
std::vector<std::vector<DigitMark>> cuts_of(const Ink& ink, const Group& group, const Image& image) {
  const Box& box = group.box;
  const Ink whole = ink_of(ink, group, box);
  std::vector<double> crossed(static_cast<size_t>(box.width()), 0);  // ink of each column
  for (int x = 0; x < box.width(); ++x) {
    for (int y = 0; y < box.height(); ++y) crossed[static_cast<size_t>(x)] += whole.depth.at(x + 1, y + 1);
  }
  const auto cut_near = [&](double share, double reach) {  // the column of least ink
    int best = static_cast<int>(share * box.width());
    double least = HUGE_VAL;
    for (int x = static_cast<int>((share - reach) * box.width()); x <= (share + reach) * box.width(); ++x) {
      if (x < 1 || x >= box.width()) continue;
      const double off = std::abs(x - share * box.width()) / box.width();
      const double cost = crossed[static_cast<size_t>(x)] * (1 + off);
      if (cost < least) best = x, least = cost;
    }
    return best;
  };
  std::vector<std::vector<int>> ways;
  const int most =
      std::clamp(static_cast<int>(std::lround(box.width() / (0.45 * box.height()))), 2, kMostParts);
  for (int parts = 2; parts <= most; ++parts) {
    std::vector<int> way;
    for (int k = 1; k < parts; ++k) way.push_back(cut_near(static_cast<double>(k) / parts, 0.3 / parts));
    ways.push_back(std::move(way));
  }
  for (const double share : {0.33, 0.42, 0.58, 0.67}) ways.push_back({cut_near(share, 0.06)});
  std::vector<std::vector<DigitMark>> cuts;
  for (std::vector<int>& way : ways) {
    way.push_back(box.width());
    std::vector<DigitMark> digits;
    int from = 0;
    for (const int to : way) {
      if (to - from < 3) break;
      const Box part{box.x0 + from, box.y0, box.x0 + to, box.y1};
      Ink own = ink_of(ink, group, part);
      own.box = box_of_ink(own);
      DigitMark mark;
      mark.box = in_picture(ink,
                            {part.x0 + own.box.x0 - 1, part.y0 + own.box.y0 - 1, part.x0 + own.box.x1 - 1,
                             part.y0 + own.box.y1 - 1},
                            image);
      mark.digit = place_digit(own);
      // A fragment is no digit.
      if (mark.digit.blank || own.box.height() < 0.6 * box.height()) break;
      digits.push_back(std::move(mark));
      from = to;
    }
    if (from == box.width()) cuts.push_back(std::move(digits));
  }
  return cuts;
}

void refuse(NumberImage& number, Refusal refusal, std::string reason) {
  number.refusal = refusal;
  number.reason = std::move(reason);
}

void add_marks(const Ink& ink, const Image& image, NumberImage& number) {
  std::vector<Group> groups;
  for (size_t i = 0; i < ink.marks.size(); ++i) groups.push_back({ink.marks[i].box, ink.marks[i].mass, {i}});
  leave_out_lines(groups, number.warnings);
  groups = group_marks(std::move(groups));
  leave_out_specks(groups, number.warnings);
  if (groups.size() > kMostMarks)
    return refuse(number, Refusal::kTexture,
                  concat("no number: ", groups.size(), " marks, expected at most ", kMostMarks, " digits"));
  if (!is_one_row(groups))
    return refuse(
        number, Refusal::kRows,
        concat("no number: ", groups.size(), " marks in several rows, expected the digits of one number"));
  judge_points(ink, groups, image, number);
  if (number.refusal != Refusal::kNone) return;
  warn_of_uneven(groups, number.warnings);
  const double height = digit_height(groups);
  for (const Group& group : groups) {
    DigitMark mark;
    mark.box = in_picture(ink, group.box, image);
    // With one digit nothing is cut out, so that the steps have the picture's own coordinates.
    mark.digit = place_digit(
        groups.size() == 1 && group.marks.size() == ink.marks.size() ? ink : ink_of(ink, group, group.box));
    mark.small = groups.size() > 1 && (is_small(group.box, height) || is_flat(group.box, height));
    mark.wide = group.box.width() > kWide * group.box.height() && group.box.height() > kSmallHeight * height;
    if (mark.wide) mark.cuts = cuts_of(ink, group, image);
    if (groups.size() > 1)
      number.steps.push_back(concat("mark ", number.marks.size() + 1, ": ", mark.box.width(), "x",
                                    mark.box.height(), " pixels at ", mark.box.x0, ", ", mark.box.y0));
    if (stand_apart(ink, group.marks) || may_be_two(ink, group.marks, height))
      number.warnings.add(PictureWarning::kSeveralMarks, "marks that stand apart were taken as one digit");
    number.marks.push_back(std::move(mark));
  }
}

}  // namespace

const char* refusal_name(Refusal refusal) {
  constexpr const char* kNames[] = {"",        "blank", "no_digit",  "too_small", "touching",
                                    "texture", "rows",  "no_number", "not_finite"};
  return kNames[static_cast<int>(refusal)];
}

NumberImage number_of(const uint8_t* pixels) {
  constexpr int kSide = DigitImage::kSide, kPixels = kSide * kSide;
  NumberImage number;
  if (std::all_of(pixels, pixels + kPixels, [&](uint8_t value) { return value == pixels[0]; })) {
    refuse(number, Refusal::kBlank, "blank: no ink found");
    return number;
  }
  DigitMark mark;
  mark.box = {0, 0, kSide, kSide};
  std::copy(pixels, pixels + kPixels, mark.digit.pixels.begin());
  mark.digit.untouched = true;
  number.marks.push_back(std::move(mark));
  return number;
}

NumberImage prepare_number(const Image& image) {
  NumberImage number;
  constexpr int kSide = DigitImage::kSide;
  if (image.width == kSide && image.height == kSide) {
    DigitMark mark;
    mark.box = {0, 0, kSide, kSide};
    mark.digit = prepare_digit(image);
    number.steps = std::exchange(mark.digit.steps, {});
    number.warnings = std::exchange(mark.digit.warnings, {});
    if (mark.digit.blank) {
      refuse(number, Refusal::kBlank, "blank: no ink found");
    } else {
      number.marks.push_back(std::move(mark));
    }
    return number;
  }
  const Ink ink = find_ink(image);
  number.steps = {describe_picture(image)};
  number.steps.insert(number.steps.end(), ink.steps.begin(), ink.steps.end());
  number.warnings = ink.warnings;
  if (ink.level == 0) {
    number.warnings.add(PictureWarning::kBlank, "blank: no ink found");
    refuse(number, Refusal::kBlank, "blank: no ink found");
    return number;
  }
  if (ink.marks.size() > kMostStrokes) {
    refuse(number, Refusal::kTexture,
           concat("texture: ", ink.marks.size(), " marks, expected a number; photograph it on plain paper"));
    return number;
  }
  add_marks(ink, image, number);
  if (number.marks.size() == 1 && number.marks[0].digit.blank) {
    number.marks.clear();
    refuse(number, Refusal::kBlank, "blank: the marks found lie too far apart for a digit");
    number.warnings.add(PictureWarning::kBlank, number.reason);
  }
  const auto blank = std::find_if(number.marks.begin(), number.marks.end(),
                                  [](const DigitMark& mark) { return mark.digit.blank; });
  if (blank != number.marks.end()) {
    refuse(number, Refusal::kNoNumber,
           concat("no number: mark ", blank - number.marks.begin() + 1, " of ", number.marks.size(),
                  " has parts that lie too far apart for a digit"));
    number.marks.clear();
  }
  if (number.marks.size() == 1) {
    DigitImage& digit = number.marks[0].digit;
    number.steps.insert(number.steps.end(), digit.steps.begin(), digit.steps.end());
    digit.steps.clear();
  }
  for (DigitMark& mark : number.marks) number.warnings.add(std::exchange(mark.digit.warnings, {}));
  return number;
}

}  // namespace lenslet
