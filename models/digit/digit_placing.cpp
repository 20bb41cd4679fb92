// The steps are those of MNIST: the digit's box is scaled, with its aspect kept, until its longer side is 20 pixels. It
// is then placed in 28x28 so that its centre of mass is in the middle. Source: LeCun, Bottou, Bengio, Haffner,
// "Gradient-based learning applied to document recognition" (1998), III.A. Departures: MNIST's samples were already
// black on white. Finding the box is this project's (models/digit/ink.h), and so is adjusting the width of strokes to
// MNIST's range for a much thinner or thicker pen.
//
// Thresholds without a source were chosen by hand, on the drawn 2 of tests/models/digit_image_test.cpp. Its pens are
// 0.8 to 45 % as wide as the 2 is large. The tests DigitImage.DrawsThinStrokesThickerAndThickOnesThinner and
// DigitImage.TakesAnySizeAndPlace there hold the thresholds, and so does Mnist.* where MNIST is present.
#include "models/digit/digit_placing.h"

#include <algorithm>
#include <cmath>

#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "models/digit/plane.h"

namespace lenslet {
namespace {

constexpr int kSide = DigitImage::kSide;
constexpr int kDigitSide = DigitImage::kDigitSide;
constexpr double kCentre = kSide / 2.0;  // pixel index of the centre of mass
// Strokes of MNIST at 20 pixels: 1st percentile 1.3, median 2.5, 99th percentile 4.9 pixels wide (3,000 images).
// Strokes beyond the limits are drawn again with a width between them.
constexpr double kThinStroke = 1.3, kThickStroke = 5.2, kGoodThin = 2.2, kGoodThick = 4.4;
constexpr int kMinDigitPixels = 8;  // of the digit's longer side: with fewer its form is lost
constexpr float kHalfInk = 0.5f;    // share of ink from which a pixel belongs to a stroke
// A picture that shrinks by less than kSoftShrink keeps faint pixels, as MNIST does; edges get sharper up to
// kSharpShrink.
constexpr double kSoftShrink = 1.5, kSharpShrink = 3;
// Sharp edges, in shares of the ink's level: depths below kSharpLow become 0, depths above 1 - kSharpTop become 1, and
// at least kMinRamp lies between the two.
constexpr double kSharpLow = 0.25, kSharpTop = 0.4, kMinRamp = 0.2;
// A row or column with less ink than this, in output pixels, is a soft edge of the digit, and outside of its box.
constexpr double kEdgeInk = 0.1;
// Limits for a picture that is taken as MNIST's: its brightest pixel is at least kMinPeak, its digit is at most
// kSmallerBy pixels smaller than MNIST's, and at most kOffCentreBy pixels off centre.
constexpr uint8_t kMinPeak = 128;
constexpr int kSmallerBy = 2;
constexpr double kOffCentreBy = 1;

struct Centre {
  double x = 0, y = 0, mass = 0;
};

Centre centre_of_mass(const Plane& plane) {
  Centre c;
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) {
      c.x += static_cast<double>(plane.at(x, y)) * x;
      c.y += static_cast<double>(plane.at(x, y)) * y;
      c.mass += plane.at(x, y);
    }
  }
  if (c.mass > 0) {
    c.x /= c.mass;
    c.y /= c.mass;
  }
  return c;
}

// The rows and columns with ink above `threshold` whose sum is above `min_sum`.
Box ink_box(const Plane& plane, const Box& within, float threshold, double min_sum) {
  std::vector<double> rows(static_cast<size_t>(plane.height), 0),
      columns(static_cast<size_t>(plane.width), 0);
  for (int y = within.y0; y < within.y1; ++y) {
    for (int x = within.x0; x < within.x1; ++x) {
      const float v = plane.at(x, y);
      if (!(v > threshold)) continue;
      rows[static_cast<size_t>(y)] += v;
      columns[static_cast<size_t>(x)] += v;
    }
  }
  const auto range = [&](const std::vector<double>& sums, int& begin, int& end) {
    const auto enough = [&](double sum) { return sum > min_sum; };
    const auto first = std::find_if(sums.begin(), sums.end(), enough);
    const auto last = std::find_if(sums.rbegin(), sums.rend(), enough).base();
    begin = static_cast<int>(first - sums.begin());
    end = static_cast<int>(last - sums.begin());
  };
  Box box;
  range(columns, box.x0, box.x1);
  range(rows, box.y0, box.y1);
  return box.x1 > box.x0 && box.y1 > box.y0 ? box : within;
}

// Width and height of a box scaled so that its longer side is `side`.
Box scaled(const Box& box, int side) {
  const double factor = static_cast<double>(side) / box.longer();
  const auto length = [&](int v) { return std::max(1, static_cast<int>(std::lround(v * factor))); };
  return {0, 0, length(box.width()), length(box.height())};
}

// Converts depths to ink of 0 to 1. If pixels will be averaged later, edges are made sharp, like those of MNIST's black
// and white originals. A small picture keeps its greys.
Plane ink_share(const Ink& ink, double shrink) {
  const double sharp = std::clamp((shrink - 1) / (kSharpShrink - 1), 0.0, 1.0);
  const double low = std::max(static_cast<double>(ink.floor) / ink.level, kSharpLow * sharp);
  const double high = std::max(1 - kSharpTop * sharp, low + kMinRamp);
  Plane out(ink.depth.width, ink.depth.height);
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] =
        static_cast<float>(std::clamp((ink.depth.values[i] / ink.level - low) / (high - low), 0.0, 1.0));
  }
  return out;
}

// Mean width of the strokes in pixels: twice the area over the length of the outline.
double stroke_width(const Plane& plane) {
  double area = 0, variation = 0;
  const auto inside = [&](int x, int y) {
    return x >= 0 && y >= 0 && x < plane.width && y < plane.height && plane.at(x, y) >= kHalfInk;
  };
  for (int y = 0; y <= plane.height; ++y) {
    for (int x = 0; x <= plane.width; ++x) {
      const bool here = inside(x, y);
      area += here;
      variation += (here != inside(x - 1, y)) + (here != inside(x, y - 1));
    }
  }
  return variation == 0 ? 0 : 2 * area / (variation * kOutlinePerStep);
}

// Moves every outline outwards by `grow` pixels, inwards if it is negative. The plane gets a margin for it.
Plane grow_strokes(const Plane& in, double grow) {
  const int margin = static_cast<int>(std::ceil(std::max(grow, 0.0))) + 1;
  Plane ink(in.width + 2 * margin, in.height + 2 * margin), paper(ink.width, ink.height);
  for (int y = 0; y < ink.height; ++y) {
    for (int x = 0; x < ink.width; ++x) {
      const int sx = x - margin, sy = y - margin;
      const bool inside = sx >= 0 && sy >= 0 && sx < in.width && sy < in.height && in.at(sx, sy) >= kHalfInk;
      ink.at(x, y) = inside ? 1.f : 0.f;
      paper.at(x, y) = inside ? 0.f : 1.f;
    }
  }
  const Plane to_ink = distance_to(ink, kHalfInk), to_paper = distance_to(paper, kHalfInk);
  Plane out(ink.width, ink.height);
  for (size_t i = 0; i < out.values.size(); ++i) {
    // The outline runs half a pixel from the centres on its two sides.
    const double outside = ink.values[i] > 0 ? 0.5 - to_paper.values[i] : to_ink.values[i] - 0.5;
    out.values[i] = static_cast<float>(std::clamp(grow - outside + 0.5, 0.0, 1.0));
  }
  return out;
}

}  // namespace

// Opaque grey, black paper with black corners, the digit's box and centre in place.
bool is_mnist_like(const Picture& picture, std::array<uint8_t, kSide * kSide>& pixels) {
  if (picture.width != kSide || picture.height != kSide) return false;
  const auto channels = static_cast<size_t>(picture.channels);
  Plane plane(kSide, kSide);
  size_t paper = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    const uint8_t* p = &picture.pixels[i * channels];
    if (channels >= 3 && (p[0] != p[1] || p[1] != p[2])) return false;
    if (channels % 2 == 0 && p[channels - 1] != kMaxByte) return false;
    pixels[i] = p[0];
    plane.values[i] = p[0];
    paper += p[0] == 0;
  }
  if (plane.at(0, 0) + plane.at(kSide - 1, 0) + plane.at(0, kSide - 1) + plane.at(kSide - 1, kSide - 1) > 0)
    return false;
  if (paper < pixels.size() / 2 || *std::max_element(pixels.begin(), pixels.end()) < kMinPeak) return false;
  const Centre centre = centre_of_mass(plane);
  const int longer = ink_box(plane, {0, 0, kSide, kSide}, 0, 0).longer();
  return longer >= kDigitSide - kSmallerBy && longer <= kDigitSide &&
         std::abs(centre.x - kCentre) < kOffCentreBy && std::abs(centre.y - kCentre) < kOffCentreBy;
}

DigitImage place_digit(const Ink& ink) {
  DigitImage digit;
  double shrink = static_cast<double>(ink.box.longer()) / kDigitSide;
  Plane share = ink_share(ink, shrink);
  const bool soft = shrink < kSoftShrink;
  Box box = ink_box(share, ink.box, soft ? 0 : kHalfInk, soft ? 0 : kEdgeInk * shrink);
  digit.steps.push_back(
      concat("box: columns ", box.x0, " to ", box.x1 - 1, ", rows ", box.y0, " to ", box.y1 - 1));
  if (box.longer() < kMinDigitPixels)
    digit.warnings.add(PictureWarning::kSmall, concat("the digit is only ", box.longer(), " pixels large"));

  // Measured and, if needed, corrected at eight times the final scale.
  constexpr int kFine = 8;
  const Box fine_size = scaled(box, kFine * kDigitSide);
  const Plane fine = resize(share, box, fine_size.width(), fine_size.height());
  const double width = stroke_width(fine) / kFine;
  if (width > 0 && (width < kThinStroke || width > kThickStroke)) {
    const double wanted = width < kThinStroke ? kGoodThin : kGoodThick;
    share = grow_strokes(fine, kFine * (wanted - width) / 2);
    box = ink_box(share, {0, 0, share.width, share.height}, kHalfInk, kEdgeInk * kFine);
    digit.steps.push_back(concat("strokes: ", std::lround(10 * width) / 10.0, " pixels wide, drawn ",
                                 width < kThinStroke ? "thicker" : "thinner", " to ", wanted));
  }
  const Box size = scaled(box, kDigitSide);
  const Plane small = resize(share, box, size.width(), size.height());
  const Centre centre = centre_of_mass(small);
  digit.steps.push_back(
      concat("scale: ", box.width(), "x", box.height(), " to ", size.width(), "x", size.height()));

  const auto start = [](double middle) { return static_cast<int>(std::lround(kCentre - middle)); };
  const int x0 = std::clamp(start(centre.x), 0, kSide - small.width);
  const int y0 = std::clamp(start(centre.y), 0, kSide - small.height);
  if (x0 != start(centre.x) || y0 != start(centre.y)) {
    digit.warnings.add(PictureWarning::kOffCentre,
                       "the ink's centre of mass lies far from its middle: not a digit, perhaps");
  }
  digit.steps.push_back(concat("place: at column ", x0, ", row ", y0, ", centre of mass at ",
                               std::lround(10 * (centre.x + x0)) / 10.0, ", ",
                               std::lround(10 * (centre.y + y0)) / 10.0));
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      digit.pixels[static_cast<size_t>((y0 + y) * kSide + x0 + x)] =
          static_cast<uint8_t>(std::lround(kMaxByte * std::clamp(small.at(x, y), 0.0f, 1.0f)));
    }
  }
  // The columns may come from some marks and the rows from others, so that their common box contains no ink.
  if (std::none_of(digit.pixels.begin(), digit.pixels.end(), [](uint8_t value) { return value > 0; })) {
    digit.blank = true;
    digit.warnings.add(PictureWarning::kBlank, kMarksTooFarApart);
  }
  return digit;
}

std::string describe_picture(const Picture& picture) {
  return concat("picture: ", picture.format, ", ", picture.width, "x", picture.height, ", ",
                counted(picture.channels, "channel"));
}

}  // namespace lenslet
