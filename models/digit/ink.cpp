// Thresholds without a source were chosen by hand, on the drawn 2 of tests/models/digit_image_test.cpp: with frames,
// specks and lines, under noise, in JPEG, at sizes from 18 to 700 pixels. DigitImage.* there must still read it. Three
// groups were chosen for numbers:
//
// | thresholds | tests of tests/models that hold them |
// |---|---|
// | points | NumberSigns.PointOfAThinPenIsNoSpeck, NumberSigns.DustBetweenDigitsIsReported |
// | marks as high as the others, at an edge | NumberSigns.DigitsThatFillThePictureAreNoEdges |
// | the same, faint | Numbers.ComeWithWarningsWhereTheyMayBeWrong |
#include "models/digit/ink.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "models/digit/digit_image.h"
#include "models/digit/paper.h"
#include "models/digit/ruled_lines.h"

namespace lenslet {
namespace {

constexpr int kAnalysisSide = 320;  // a longer side of more pixels is reduced to so many
constexpr int kMaxSide = 1280;      // the same for the part with the marks, since a number may be long
// Pixels of the largest mark's longer side. If it has fewer, the part of the picture with the marks is read again at a
// higher resolution.
constexpr int kEnoughPixels = 4 * DigitImage::kDigitSide;
constexpr float kStrong = 0.45f;  // share of the ink's level that makes a mark, not a shadow or a faint line
constexpr float kMaxFloor = 0.35f;  // largest share of the ink's level that counts as paper
// The least ratio of the ink's level to the paper's noise. Below it, strong noise would pass for ink.
constexpr float kMinSignal = 6;
constexpr double kSpeck = 0.025;    // a mark with less than this share of the largest mark's mass is a speck
constexpr float kPointPeak = 0.8f;  // share of the ink's level that a small point of the same pen has
// A point's longer side is at least kPointSide of the highest mark's height and at least kMinPointSide pixels.
constexpr double kPointSide = 0.04, kMinPointSide = 2;
// A mark is a frame if each side is at least kFrameSide of the picture's and kFrameCorners of its corners have ink. A
// corner is 1/kCornersOfSide of the longer side.
constexpr double kFrameSide = 0.6;
constexpr int kCornersOfSide = 16, kFrameCorners = 3;
// Shares of a side of the picture: a mark within kEdgeBand of an edge is a shadow or a line, and a mark as long as
// kAcross goes from edge to edge.
constexpr double kEdgeBand = 0.15, kAcross = 0.9;
constexpr double kMinWidth = 0.25;  // least width of a digit, as a share of its height
// A mark as high as the others has between kMinDigitHeight and kMaxDigitHeight of the highest one's height, and shares
// more than kMinSharedRows of its own rows with them.
constexpr double kMaxDigitHeight = 1.4, kMinSharedRows = 0.6;
constexpr double kFaintMass = 0.1;  // least mass of a faint digit, as a share of the largest mark's
constexpr double kPeak = 0.98;      // percentile of depths that stands for the largest, without outliers
// Pixels near the strokes whose noise is measured: from kSoftEdge pixels away, beyond the soft edge, up to kNearby
// pixels or kNearbyShare of the picture's longer side, whichever is more.
constexpr float kSoftEdge = 3, kNearby = 8, kNearbyShare = 0.05f;
// In a clean picture ink begins above a depth of 0. Clean is noise of at most kCleanNoise grey levels near the strokes,
// and a sigma of the paper below kCleanSigma.
constexpr float kCleanNoise = 1, kCleanSigma = 0.5f;
// In any other picture ink begins above the largest of kAboveNoise times the noise near the strokes, kNoiseSigmas
// sigmas of the paper, and kMinFloor of the ink's level.
constexpr float kAboveNoise = 1.2f, kMinFloor = 0.05f;
// The longer side of a digit-sized mark is at least so many pixels, and at least kMinDigit of the picture's shorter
// side.
constexpr double kMinPixels = 4;
constexpr int kRounds = 4, kRuledRounds = 2;  // rounds that remove marks; the first also remove ruled lines
constexpr int kDustOfSide = 50;  // ink smaller than 1/kDustOfSide of the picture is dust or noise

// Whether a mark is a frame around the digit, or the printed edge of a box that was cut out.
bool is_frame(const Component& c, int32_t label, const std::vector<int32_t>& labels, const Plane& plane) {
  if (c.box.width() < kFrameSide * plane.width || c.box.height() < kFrameSide * plane.height) return false;
  const int reach = std::max(1, c.box.longer() / kCornersOfSide);
  const int reach_x = std::min(reach, c.box.width()), reach_y = std::min(reach, c.box.height());
  int corners = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const int x0 = corner % 2 ? c.box.x1 - reach_x : c.box.x0;
    const int y0 = corner / 2 ? c.box.y1 - reach_y : c.box.y0;
    bool found = false;
    for (int y = y0; y < y0 + reach_y; ++y) {
      for (int x = x0; x < x0 + reach_x; ++x) found = found || labels[plane.index(x, y)] == label;
    }
    corners += found;
  }
  return corners >= kFrameCorners;
}

// Whether a mark lies within the band along an edge of the picture.
bool in_edge_band(const Box& box, const Plane& plane) {
  const double band_x = kEdgeBand * plane.width, band_y = kEdgeBand * plane.height;
  return box.x1 <= band_x || box.y1 <= band_y || box.x0 >= plane.width - band_x ||
         box.y0 >= plane.height - band_y;
}

// Whether a mark goes across most of the picture.
bool is_across(const Box& box, const Plane& plane) {
  return box.width() >= kAcross * plane.width || box.height() >= kAcross * plane.height;
}

// Whether a mark is a shadow or a line along an edge: it touches an edge of the picture, and lies within the band there
// or goes across most of the picture.
bool is_edge_mark(const Component& c, const Plane& plane) {
  return c.at_border && (in_edge_band(c.box, plane) || is_across(c.box, plane));
}

// Whether a mark is a strip along an edge, such as a table beside the paper. It is left out even if nothing else is as
// dark, as beside a number in pencil: alone it would pass for a 1.
bool is_edge_strip(const Component& c, const Plane& plane) {
  return c.at_border && in_edge_band(c.box, plane) && is_across(c.box, plane);
}

// Clears `drop` for marks at the edge that are digits of a closely cut picture. They have the size and the rows of the
// marks inside, or the shape of one digit that fills the height of the picture.
void keep_digits_at_edge(const std::vector<Component>& marks, float peak, const Plane& plane,
                         std::vector<uint8_t>& drop) {
  const auto fills = [&](const Box& box) {
    return box.height() >= kAcross * plane.height && box.width() >= kMinWidth * box.height() &&
           box.width() < box.height() && box.x0 > kEdgeBand * plane.width &&
           box.x1 < (1 - kEdgeBand) * plane.width;
  };
  const auto is_like = [](const Box& box, const Box& other) {
    const int rows = std::min(box.y1, other.y1) - std::max(box.y0, other.y0);
    return box.height() > kMinDigitHeight * other.height() &&
           box.height() < kMaxDigitHeight * other.height() && box.width() < box.height() &&
           rows > kMinSharedRows * box.height();
  };
  Box highest{0, 0, 0, 0};
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].peak < peak) continue;
    if (drop[i] && fills(marks[i].box)) drop[i] = 0;
    if (!drop[i] && marks[i].box.height() > highest.height()) highest = marks[i].box;
  }
  for (size_t i = 0; i < marks.size(); ++i) {
    if (drop[i] && marks[i].peak >= peak && is_like(marks[i].box, highest)) drop[i] = 0;
  }
}

// Whether a mark that is too faint to be kept has the size and the place of a digit beside those kept.
bool is_faint_digit(const Component& c, const Ink& ink) {
  int highest = 0;
  double largest = 0;
  for (const Component& mark : ink.marks) {
    highest = std::max(highest, mark.box.height());
    largest = std::max(largest, mark.mass);
  }
  const int rows = std::min(c.box.y1, ink.box.y1) - std::max(c.box.y0, ink.box.y0);
  return !c.at_border && c.box.height() > kMinDigitHeight * highest &&
         c.box.height() < kMaxDigitHeight * highest && c.box.width() < highest &&
         rows > kMinSharedRows * c.box.height() && c.mass > kFaintMass * largest;
}

// Sets level and floor from the depths. Labels only pixels that are connected to a strong one. Returns all marks.
std::vector<Component> find_marks(Ink& ink, float sigma, std::vector<int32_t>& labels) {
  const float gate = std::max(kInkSigmas * sigma, kMinGate);
  std::vector<float> marked;
  for (const float d : ink.depth.values) {
    if (d > gate) marked.push_back(d);
  }
  ink.level = 0;
  if (marked.empty()) return {};
  const float strongest = percentile(marked, kPeak);
  if (strongest < std::max(kMinLevel, kMinSignal * sigma)) return {};

  // Pixels near the strokes, but not on their soft edge, are paper, with the noise of that place.
  const Plane distance = distance_to(ink.depth, kStrong * strongest);
  const float reach =
      std::max(kNearby, kNearbyShare * static_cast<float>(std::max(ink.depth.width, ink.depth.height)));
  std::vector<float> nearby;
  for (size_t i = 0; i < distance.values.size(); ++i) {
    if (distance.values[i] >= kSoftEdge && distance.values[i] <= reach) nearby.push_back(ink.depth.values[i]);
  }
  const float noise = percentile(nearby, kPeak);
  ink.floor = noise <= kCleanNoise && sigma < kCleanSigma
                  ? 0
                  : std::clamp(std::max(kAboveNoise * noise, kNoiseSigmas * sigma), kMinFloor * strongest,
                               kMaxFloor * strongest);
  // In a clean picture the deepest pixel gives the level of the ink; in a noisy one it is an outlier.
  ink.level = ink.floor == 0 ? *std::max_element(marked.begin(), marked.end()) : strongest;
  std::vector<Component> marks = connected_components(ink.depth, ink.floor, labels);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != 0 && marks[static_cast<size_t>(labels[i] - 1)].peak < kStrong * ink.level) labels[i] = 0;
  }
  return marks;
}

// The longer side of the largest mark.
int largest_mark(const Ink& ink) {
  int longest = 0;
  for (const Component& mark : ink.marks) longest = std::max(longest, mark.box.longer());
  return longest;
}

// The ink of the picture reduced by `factor`, or of a part of it at a higher resolution if details were lost.
Ink look_closer(const Picture& picture, int factor, Ink ink, std::vector<std::string>& steps) {
  ink.factor = factor;
  const int largest = largest_mark(ink);
  if (ink.level == 0 || factor == 1 || largest >= kEnoughPixels) return ink;
  const Box at{ink.box.x0 * factor, ink.box.y0 * factor, std::min(ink.box.x1 * factor, picture.width),
               std::min(ink.box.y1 * factor, picture.height)};
  const int margin = largest * factor / 2;
  const Box part{std::max(at.x0 - margin, 0), std::max(at.y0 - margin, 0),
                 std::min(at.x1 + margin, picture.width), std::min(at.y1 + margin, picture.height)};
  // A number is much longer than its digits.
  const int side = std::clamp(part.longer() * kEnoughPixels / (largest * factor), kAnalysisSide, kMaxSide);
  const GreyPlanes grey = grey_planes(picture, part, side);
  if (grey.factor == factor) return ink;
  Ink closer = find_ink(grey);
  if (closer.level == 0) return ink;
  steps.push_back(concat("small in the picture: read from the ", at.width(), "x", at.height(), " pixels at ",
                         at.x0, ", ", at.y0));
  closer.warnings.add(ink.warnings);
  closer.left = part.x0;
  closer.top = part.y0;
  closer.factor = grey.factor;
  return closer;
}

// The noise of the pixels in the middle of a picture, which a reduced picture hardly has: the mean difference of
// neighbours in normal noise is 2 / sqrt(pi) of its standard deviation.
float noise_of_pixels(const Picture& picture) {
  const int width = std::min(picture.width, kAnalysisSide), height = std::min(picture.height, kAnalysisSide);
  const int x0 = (picture.width - width) / 2, y0 = (picture.height - height) / 2;
  const Plane grey = grey_planes(picture, {x0, y0, x0 + width, y0 + height}, kAnalysisSide).planes[0];
  double sum = 0;
  int count = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x + 1 < width; ++x, ++count) sum += std::abs(grey.at(x + 1, y) - grey.at(x, y));
  }
  constexpr double kHalfRootOfPi = 0.886226925452758;
  return count == 0 ? 0 : static_cast<float>(kHalfRootOfPi * sum / count);
}

}  // namespace

Ink find_ink(const GreyPlanes& grey) {
  Ink ink;
  Depth depth = depth_on_paper(grey, ink.steps);
  ink.depth = std::move(depth.plane);
  std::vector<int32_t>& labels = ink.labels;
  std::vector<Component> marks;
  bool left_out = false;
  // A removed mark may have been the strongest, so levels are computed again from the rest.
  for (int round = 0; round < kRounds; ++round) {
    marks = find_marks(ink, depth.sigma, labels);
    if (ink.level == 0) break;
    const auto is_digit_sized = [&](const Component& c) {
      return c.peak >= kStrong * ink.level &&
             c.box.longer() >= std::max(kMinPixels, kMinDigit * std::min(ink.depth.width, ink.depth.height));
    };
    bool ruled = false;
    for (size_t i = 0; i < marks.size() && round < kRuledRounds; ++i) {
      if (is_digit_sized(marks[i]))
        ruled = remove_ruled_lines(ink.depth, marks[i], labels, static_cast<int32_t>(i + 1)) || ruled;
    }
    if (ruled) {
      ink.warnings.add(PictureWarning::kMarkLeftOut, "lines of the paper were left out");
      continue;
    }
    std::vector<uint8_t> drop(marks.size(), 0);
    bool other = false;
    for (size_t i = 0; i < marks.size(); ++i) {
      drop[i] = is_edge_mark(marks[i], ink.depth) ||
                is_frame(marks[i], static_cast<int32_t>(i + 1), labels, ink.depth);
      other = other || (!drop[i] && is_digit_sized(marks[i]));
    }
    keep_digits_at_edge(marks, kStrong * ink.level, ink.depth, drop);
    bool dropped = false;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == 0 || !drop[static_cast<size_t>(labels[i] - 1)]) continue;
      if (!other && !is_edge_strip(marks[static_cast<size_t>(labels[i] - 1)], ink.depth)) continue;
      ink.depth.values[i] = 0;
      dropped = true;
    }
    left_out = left_out || dropped;
    if (!dropped) break;
  }
  if (left_out)
    ink.warnings.add(PictureWarning::kEdgeLeftOut, "a line, frame or shadow at the edge was left out");

  double largest = 0;
  for (const Component& c : marks)
    largest = c.peak >= kStrong * ink.level ? std::max(largest, c.mass) : largest;
  int highest = 0;
  for (const Component& c : marks) {
    if (c.peak >= kStrong * ink.level && c.mass >= kSpeck * largest)
      highest = std::max(highest, c.box.height());
  }
  std::vector<int32_t> kept(marks.size(), 0);  // 1 + the mark's index in ink.marks, or 0
  bool at_border = false;
  for (size_t i = 0; i < marks.size() && ink.level > 0; ++i) {
    const Component& c = marks[i];
    if (c.peak < kStrong * ink.level) continue;
    if (c.mass < kSpeck * largest) {
      if (c.peak >= kPointPeak * ink.level && c.box.longer() >= std::max(kMinPointSide, kPointSide * highest))
        ink.points.push_back(c.box);
      continue;
    }
    ink.marks.push_back(c);
    kept[i] = static_cast<int32_t>(ink.marks.size());
    ink.box = united(ink.box, c.box);
    at_border = at_border || c.at_border;
  }
  if (ink.level > 0 && std::any_of(marks.begin(), marks.end(), [&](const Component& c) {
        return c.peak < kStrong * ink.level && is_faint_digit(c, ink);
      }))
    ink.warnings.add(PictureWarning::kFaintMark, "a faint mark as high as the others was left out");
  // One or two pixels in a large picture are dust or noise.
  const int side = std::max(ink.depth.width, ink.depth.height);
  if (ink.box.longer() < std::max(2, side / kDustOfSide)) ink.level = 0;
  if (ink.level == 0) {
    ink.noise = depth.sigma;
    ink.marks.clear();
    ink.points.clear();
    ink.steps.push_back("ink: none found");
    return ink;
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = labels[i] == 0 ? 0 : kept[static_cast<size_t>(labels[i] - 1)];
    if (labels[i] == 0) ink.depth.values[i] = 0;
  }
  ink.steps.push_back(concat("ink: ", counted(ink.marks.size(), "mark"), ", depth ", std::lround(ink.level),
                             ", paper up to ", std::lround(ink.floor)));
  if (ink.level < kFaintLevel)
    ink.warnings.add(
        PictureWarning::kLittleContrast,
        concat("little contrast: the ink differs from the paper by ", std::lround(ink.level), " of 255"));
  if (at_border)
    ink.warnings.add(PictureWarning::kTouchesEdge,
                     "the digit touches the edge of the picture, part of it may be missing");
  return ink;
}

Ink find_ink(const Picture& picture) {
  const GreyPlanes grey = grey_planes(picture, kAnalysisSide);
  std::vector<std::string> steps;
  if (grey.factor > 1) {
    steps.push_back(
        concat("reduced by ", grey.factor, " to ", grey.planes[0].width, "x", grey.planes[0].height));
  }
  Ink ink = look_closer(picture, grey.factor, find_ink(grey), steps);
  ink.steps.insert(ink.steps.begin(), steps.begin(), steps.end());
  if (ink.level == 0) ink.noise = std::max(ink.noise, noise_of_pixels(picture));
  return ink;
}

}  // namespace lenslet
