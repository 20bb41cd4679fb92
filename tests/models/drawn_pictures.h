// Draws pictures of numbers as people take them: strokes of a pen on paper, then what a camera, a scanner or a screen
// adds. Nothing of MNIST is in them.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "framework/io/picture.h"

namespace lenslet::test {

struct Colour {
  double red, green, blue;  // 0 to 255
};

inline constexpr Colour kWhite{248, 248, 246}, kBlackInk{25, 24, 28}, kBlueInk{30, 50, 140},
    kPencil{120, 120, 124};

struct Pen {
  Colour colour = kBlackInk;
  double width = 0.09;   // of the characters' height
  double slant = 0.06;   // shift to the right, of the height
  double shake = 0.012;  // of the points, of the height
};

/// A picture under construction: each step changes what is there.
class DrawnPicture {
 public:
  DrawnPicture(int width, int height, Colour paper = kWhite, uint32_t seed = 1);

  /// Writes digits, letters of "AEHKX" and "?+=/:-." from the left, each `height` pixels tall. `spacing` is the gap
  /// between two boxes, of the height; negative ones touch.
  DrawnPicture& write(const std::string& text, double left, double top, double height, const Pen& pen = {},
                      double spacing = 0.25);
  /// A stroke through these points, in pixels.
  DrawnPicture& stroke(const std::vector<std::pair<double, double>>& points, double width, Colour colour);
  /// Horizontal lines every `distance` pixels, and vertical ones for squared paper.
  DrawnPicture& lines(double distance, Colour colour, bool squares = false, double width = 1.2);
  /// Grain of the paper and noise of the camera, of this standard deviation.
  DrawnPicture& noise(double sigma);
  /// Multiplies the light at (x, y), both 0 to 1 across the picture.
  DrawnPicture& light(const std::function<double(double x, double y)>& factor);
  /// A bright reflection around (x, y), of a radius in parts of the width.
  DrawnPicture& glare(double x, double y, double radius, double strength);
  /// Fills where `inside` is true for (x, y) in pixels: a table beside the sheet, a frame, a bar of a program.
  DrawnPicture& fill(const std::function<bool(double x, double y)>& inside, Colour colour);
  /// Draws the sheet as seen obliquely on `table`: the corners are moved by these parts of the width and the height,
  /// in the order left top, right top, right bottom, left bottom.
  DrawnPicture& perspective(const std::vector<std::pair<double, double>>& corners, Colour table);
  /// Box filter of this many pixels to each side.
  DrawnPicture& blur(int radius);

  /// RGB.
  Picture picture() const;
  /// The same after JPEG compression.
  Picture photo(int quality = 80) const;

 private:
  Colour& at(int x, int y) {
    return pixels_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
  }
  const Colour& at(int x, int y) const { return const_cast<DrawnPicture*>(this)->at(x, y); }
  double shaken(double sigma) { return sigma * std::normal_distribution<double>()(random_); }

  int width_, height_;
  std::vector<Colour> pixels_;
  std::mt19937 random_;
};

}  // namespace lenslet::test
