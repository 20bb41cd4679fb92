// Planes of floats, row-major [height, width], with the operations that finding a digit in a picture needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lenslet {

/// The byte of white, of full ink and of an opaque pixel.
inline constexpr int kMaxByte = 255;
/// The ratio of an outline's length to the number of its steps along rows and columns, averaged over directions:
/// pi / 4.
inline constexpr double kOutlinePerStep = 3.14159265358979 / 4;

/// The luma of ITU-R BT.601-7, section 2.5.1, in thousandths: the weight of red.
inline constexpr unsigned kLumaRed = 299;
inline constexpr unsigned kLumaGreen = 587;  ///< The weight of green.
inline constexpr unsigned kLumaBlue = 114;   ///< The weight of blue.
/// The luma of a colour, in the unit of its parts.
inline float luma(float red, float green, float blue) {
  return kLumaRed / 1000.0f * red + kLumaGreen / 1000.0f * green + kLumaBlue / 1000.0f * blue;
}

/// A grey picture in floats.
struct Plane {
  int width = 0, height = 0;  // pixels
  std::vector<float> values;  // [height, width]

  Plane() = default;
  /// Filled with `value`.
  Plane(int w, int h, float value = 0)
      : width(w), height(h), values(static_cast<size_t>(w) * static_cast<size_t>(h), value) {}
  /// The place of a pixel in `values`.
  size_t index(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
  /// Column x, row y.
  float& at(int x, int y) { return values[index(x, y)]; }
  /// Column x, row y.
  float at(int x, int y) const { return values[index(x, y)]; }
};

/// A rectangle of pixels.
struct Box {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // columns [x0, x1), rows [y0, y1)
  /// The number of columns; 0 if the box is empty.
  int width() const { return x1 - x0; }
  /// The number of rows; 0 if the box is empty.
  int height() const { return y1 - y0; }
  /// The larger of width and height, in pixels.
  int longer() const { return width() > height() ? width() : height(); }
};

/// The smallest box around both; a box without columns adds nothing.
Box united(const Box& a, const Box& b);

/// Resizes the part of `in` within `box` to width x height: averages the covered pixels to shrink, interpolates
/// linearly to enlarge, copies otherwise.
Plane resize(const Plane& in, const Box& box, int width, int height);

/// Euclidean distance in pixels from each pixel's centre to that of the nearest pixel with a value of at least
/// `threshold`; if there is none, larger than any distance in the plane. Two passes of lower envelopes of parabolas.
/// Source: Felzenszwalb and Huttenlocher, "Distance transforms of sampled functions", Theory of Computing 8 (2012).
Plane distance_to(const Plane& in, float threshold);

/// The `p` quantile (0 to 1) of the values; 0 if there are none. Reorders them.
float percentile(std::vector<float>& values, double p);

/// Every stride-th pixel of a plane in both directions.
Plane sample(const Plane& in, int stride);

/// Calls `visit(index)` for each pixel at most `reach` columns and rows away from column x, row y, that one included.
template <typename Visit>
void for_each_around(const Plane& plane, int x, int y, int reach, Visit visit) {
  for (int ny = std::max(y - reach, 0); ny <= std::min(y + reach, plane.height - 1); ++ny) {
    for (int nx = std::max(x - reach, 0); nx <= std::min(x + reach, plane.width - 1); ++nx)
      visit(plane.index(nx, ny));
  }
}

/// 1 for each pixel with `is_inside(index)` from which a path of such pixels (8 neighbours) leads to the plane's edge.
template <typename Inside>
std::vector<uint8_t> reached_from_edge(const Plane& plane, Inside is_inside) {
  std::vector<uint8_t> reached(plane.values.size());
  std::vector<size_t> open;
  const auto reach = [&](size_t i) {
    if (reached[i] || !is_inside(i)) return;
    reached[i] = 1;
    open.push_back(i);
  };
  for (int x = 0; x < plane.width; ++x) reach(plane.index(x, 0)), reach(plane.index(x, plane.height - 1));
  for (int y = 0; y < plane.height; ++y) reach(plane.index(0, y)), reach(plane.index(plane.width - 1, y));
  while (!open.empty()) {
    const size_t i = open.back();
    open.pop_back();
    const auto width = static_cast<size_t>(plane.width);
    for_each_around(plane, static_cast<int>(i % width), static_cast<int>(i / width), 1, reach);
  }
  return reached;
}

/// The light on a sheet of paper: a + bx + cy + dx^2 + exy + fy^2 with x and y scaled to [-1, 1] over a plane.
class Quadratic {
 public:
  /// Least-squares fit to the samples with non-zero weight, which are every stride-th pixel of a plane of width x
  /// height. A constant if there are too few samples.
  Quadratic(const Plane& samples, const std::vector<uint8_t>& weights, int stride, int width, int height);
  /// The value at a pixel of the plane, within the limits.
  float at(int x, int y) const;
  /// Sets the limits of at().
  void clamp_to(double low, double high);

 private:
  double scale_x_, scale_y_;
  double low_ = -1e30, high_ = 1e30;
  double c_[6] = {};
};

/// A connected region (8 neighbours).
struct Component {
  Box box;                 // its bounding box
  double mass = 0;         // sum of values
  float peak = 0;          // largest value
  bool at_border = false;  // has a pixel on the plane's edge
};

/// The connected regions of pixels above `threshold`. Sets `labels` to each pixel's region number + 1; 0 for none.
std::vector<Component> connected_components(const Plane& in, float threshold, std::vector<int32_t>& labels);

}  // namespace lenslet
