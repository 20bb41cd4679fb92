// From the ink of a picture to its number: groups the marks to digits, refuses or warns of what lies between and beside
// them, and prepares each digit for the model. Read number_of_ink(), the last function, first, then add_marks().
//
// Thresholds without a source were chosen by hand, on drawn pictures. The tests of tests/models that hold them:
//
// | thresholds | tests |
// |---|---|
// | a texture: a coarse cloth | Numbers.AreReadInDrawnPicturesOrRefused |
// | a texture: noise | Numbers.AreRefusedInNoiseButPaperIsBlank |
// | points | NumberSigns.PointOfAThinPenIsNoSpeck, NumberSigns.DustBetweenDigitsIsReported |
// | a wide gap, uneven heights | Numbers.ComeWithWarningsWhereTheyMayBeWrong |
// | slants | NumberRetakes.SlashesAreNoOnes, NumberRetakes.SlantedNumbersAreReadUpright |
#include "models/digit/number_of_ink.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "models/digit/digit_placing.h"
#include "models/digit/mark_cuts.h"
#include "models/digit/mark_groups.h"
#include "models/digit/mark_retakes.h"
#include "models/digit/paper.h"

namespace lenslet {
namespace {

constexpr size_t kMaxStrokes = 120;  // more marks are a texture
// Grey levels: noise that reaches the depth of faint ink, 12.5. Numbers.AreRefusedInNoiseButPaperIsBlank holds it.
constexpr float kMaxPaperNoise = kFaintLevel / kInkSigmas;
// Shares of the digits' height.
constexpr double kWide = 0.75;      // a wider mark may be several digits
constexpr double kWideGap = 1.2;    // a wider gap may separate two numbers
constexpr double kPointNear = 0.6;  // largest gap from the digits to a point
constexpr double kPointLow = 0.4;   // a point is within this part of the row, from below
// A straight stroke, such as a 1 without flag or foot: once upright, it is at most this share of its height wide.
constexpr double kStroke = 0.3;
// Slants in columns per row. A number is slanted if the median of its digits is at least kSlanted and each digit has at
// least kMinSlanted of that. 70 % of MNIST's 60,000 training digits lean by less than kSlanted.
constexpr double kSlanted = 0.25;
constexpr double kMinSlanted = 0.5;
// A straight stroke is a slash if its slant differs by more than kLeansApart from that of the digits beside it, and
// perhaps one above kPerhapsApart. A stroke alone is perhaps a slash if it leans further than kLeansApart, or further
// to the left than kBackslash. It is never refused: a third of MNIST's 1s lean further than kLeansApart, and 1 %
// further to the left than kBackslash.
constexpr double kLeansApart = 0.36, kPerhapsApart = 0.27, kBackslash = -0.3;

// Refuses a number with a point that is too small to be kept as a mark, and warns of other specks in the row of digits.
void judge_points(const Ink& ink, const std::vector<MarkGroup>& groups, const Picture& picture,
                  NumberMarks& number) {
  constexpr size_t kMaxPoints = 3;  // more are dust
  const double height = digit_height(groups);
  Box row = groups.front().box;
  for (const MarkGroup& group : groups) row = united(row, group.box);
  for (const Box& point : ink.points) {
    if (shared_rows(point, row) <= 0) continue;
    const bool over_a_mark = std::any_of(groups.begin(), groups.end(), [&](const MarkGroup& group) {
      return 2 * shared_columns(point, group.box) > point.width();
    });
    const bool near = -shared_columns(point, row) < kPointNear * height;
    const bool low = point.y0 + point.y1 > 2 * (row.y1 - kPointLow * height);
    if (!over_a_mark && near && low && ink.points.size() <= kMaxPoints) {
      const Box box = in_picture(ink, point, picture);
      number.refusal = Refusal::kTooSmall;
      number.reason = concat("no number: a mark is too small for a digit: ", box.width(), "x", box.height(),
                             " pixels at ", box.x0, ", ", box.y0);
      return;
    }
    number.warnings.add(PictureWarning::kMarkLeftOut, "a speck beside the digits was left out");
  }
}

// Warns of digits that may be two numbers, or a number and its exponent.
void warn_of_uneven(const std::vector<MarkGroup>& groups, PictureWarnings& warnings) {
  int lowest = INT_MAX, highest = 0, gap = 0;
  const double height = digit_height(groups);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!is_small(groups[i].box, height)) lowest = std::min(lowest, groups[i].box.height());
    highest = std::max(highest, groups[i].box.height());
    if (i > 0) gap = std::max(gap, groups[i].box.x0 - groups[i - 1].box.x1);
  }
  if (gap > kWideGap * highest)
    warnings.add(PictureWarning::kWideGap, "a wide gap between the digits: several numbers, perhaps");
  if (lowest < kMinDigitHeight * highest)
    warnings.add(PictureWarning::kUnevenHeights, "digits of different heights: no single number, perhaps");
}

// A mark with its ink and its slant.
struct Written {
  Ink ink;
  double slant = 0;
  bool upright = true;  // neither a point nor a dash
};

std::vector<Written> written_marks(const Ink& ink, const std::vector<MarkGroup>& groups) {
  const double height = digit_height(groups);
  std::vector<Written> marks;
  for (const MarkGroup& group : groups) {
    Written mark{ink_of(ink, group, group.box)};
    mark.slant = slant_of(mark.ink);
    mark.upright = !is_small(group.box, height) && !is_flat(group.box, height);
    marks.push_back(std::move(mark));
  }
  return marks;
}

// Slants of all upright marks except mark `one`; of all if `one` is marks.size().
std::vector<float> slants_beside(const std::vector<Written>& marks, size_t one) {
  std::vector<float> slants;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (i != one && marks[i].upright) slants.push_back(static_cast<float>(marks[i].slant));
  }
  return slants;
}

// The slant of a number all of whose digits lean to the right; otherwise 0. A single mark, which may be a slash, has 0.
double common_slant(const std::vector<Written>& marks) {
  std::vector<float> slants = slants_beside(marks, marks.size());
  if (slants.size() < 2) return 0;
  const double min_slant = *std::min_element(slants.begin(), slants.end());
  const double median = percentile(slants, 0.5);
  return median >= kSlanted && min_slant >= kMinSlanted * kSlanted ? median : 0;
}

// Whether mark `one` may be a slash instead of a 1: a straight stroke that leans further than the digits beside it.
DigitMark::Slash slash_of(const std::vector<Written>& marks, size_t one) {
  const Ink straight = upright(marks[one].ink, marks[one].slant);
  if (straight.box.width() > kStroke * straight.box.height()) return DigitMark::Slash::kNo;
  std::vector<float> others = slants_beside(marks, one);
  const double slant = marks[one].slant;
  if (others.empty())
    return slant > kLeansApart || slant < kBackslash ? DigitMark::Slash::kPerhaps : DigitMark::Slash::kNo;
  const double apart = std::abs(slant - percentile(others, 0.5));
  return apart > kLeansApart     ? DigitMark::Slash::kYes
         : apart > kPerhapsApart ? DigitMark::Slash::kPerhaps
                                 : DigitMark::Slash::kNo;
}

// The other forms from which the mark may be read.
std::vector<DigitRetake> retakes_of(const Ink& own, double slant) {
  std::vector<DigitRetake> retakes;
  const auto add = [&](const Ink& ink, PictureWarning code, const char* warning) {
    DigitImage digit = place_digit(ink);
    if (!digit.blank) retakes.push_back({std::move(digit), code, warning});
  };
  if (const std::optional<Ink> even = evened(own))
    add(*even, PictureWarning::kLittleContrast, "uneven ink: faint parts of a digit were strengthened");
  if (slant > 0) add(upright(own, slant), PictureWarning::kSlanted, "a slanted digit was read upright");
  return retakes;
}

void add_marks(const Ink& ink, const Picture& picture, NumberMarks& number) {
  std::vector<MarkGroup> groups;
  for (size_t i = 0; i < ink.marks.size(); ++i) groups.push_back({ink.marks[i].box, ink.marks[i].mass, {i}});
  leave_out_lines(groups, number.warnings);
  groups = group_marks(std::move(groups));
  leave_out_specks(groups, number.warnings);
  if (groups.size() > kMaxMarks)
    return refuse(number, Refusal::kTexture,
                  concat("no number: ", groups.size(), " marks, expected at most ", kMaxMarks, " digits"));
  if (!is_one_row(groups))
    return refuse(
        number, Refusal::kRows,
        concat("no number: ", groups.size(), " marks in several rows, expected the digits of one number"));
  judge_points(ink, groups, picture, number);
  if (number.refusal != Refusal::kNone) return;
  warn_of_uneven(groups, number.warnings);
  const double height = digit_height(groups);
  const std::vector<Written> written = written_marks(ink, groups);
  const double slant = common_slant(written);
  for (size_t i = 0; i < groups.size(); ++i) {
    const MarkGroup& group = groups[i];
    const Ink& own = written[i].ink;
    DigitMark mark;
    mark.box = in_picture(ink, group.box, picture);
    // With one digit nothing is cut out, so that the steps have the picture's own coordinates.
    mark.digit = place_digit(groups.size() == 1 && group.marks.size() == ink.marks.size() ? ink : own);
    mark.small = groups.size() > 1 && (is_small(group.box, height) || is_flat(group.box, height));
    mark.wide = group.box.width() > kWide * group.box.height() && group.box.height() > kSmallHeight * height;
    if (mark.wide) mark.cuts = cuts_of(ink, group, picture);
    if (!mark.small) {
      mark.retakes = retakes_of(own, slant);
      mark.slash = slash_of(written, i);
    }
    if (groups.size() > 1)
      number.steps.push_back(concat("mark ", number.marks.size() + 1, ": ", mark.box.width(), "x",
                                    mark.box.height(), " pixels at ", mark.box.x0, ", ", mark.box.y0));
    if (stand_apart(ink, group.marks) || may_be_two(ink, group.marks, height))
      number.warnings.add(PictureWarning::kSeveralMarks, "marks that stand apart were taken as one digit");
    number.marks.push_back(std::move(mark));
  }
}

}  // namespace

bool has_digits_form(const Picture& picture) {
  return picture.width == DigitImage::kSide && picture.height == DigitImage::kSide;
}

void refuse(NumberMarks& number, Refusal refusal, std::string reason) {
  number.refusal = refusal;
  number.reason = std::move(reason);
}

NumberMarks number_of_ink(const Picture& picture, const Ink& ink) {
  NumberMarks number;
  number.steps = {describe_picture(picture)};
  number.steps.insert(number.steps.end(), ink.steps.begin(), ink.steps.end());
  number.warnings = ink.warnings;
  if (ink.noise > kMaxPaperNoise) {
    refuse(number, Refusal::kTexture,
           concat("texture: noise of ", std::lround(ink.noise),
                  " grey levels, expected a number; photograph it on plain paper"));
    return number;
  }
  if (ink.level == 0) {
    number.warnings.add(PictureWarning::kBlank, kNoInk);
    refuse(number, Refusal::kBlank, kNoInk);
    return number;
  }
  if (ink.marks.size() > kMaxStrokes) {
    refuse(number, Refusal::kTexture,
           concat("texture: ", ink.marks.size(), " marks, expected a number; photograph it on plain paper"));
    return number;
  }
  add_marks(ink, picture, number);
  if (number.marks.size() == 1 && number.marks[0].digit.blank) {
    number.marks.clear();
    refuse(number, Refusal::kBlank, kMarksTooFarApart);
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
