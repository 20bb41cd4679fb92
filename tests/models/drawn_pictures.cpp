#include "tests/models/drawn_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/io/crafted_files.h"
#include "tests/models/drawn_glyphs.h"

namespace lenslet::test {
namespace {

using Point = std::pair<double, double>;
using Stroke = std::vector<Point>;

// Points along the centripetal Catmull-Rom spline through the points of a stroke (Barry and Goldman, 1988).
Stroke spline(const Stroke& points) {
  if (points.size() < 3) return points;
  const auto mirrored = [](Point a, Point b) {
    return Point{2 * a.first - b.first, 2 * a.second - b.second};
  };
  Stroke p = {mirrored(points[0], points[1])};
  p.insert(p.end(), points.begin(), points.end());
  p.push_back(mirrored(points.back(), points[points.size() - 2]));
  constexpr int kSteps = 12;
  Stroke curve;
  for (size_t i = 1; i + 2 < p.size(); ++i) {
    std::array<double, 4> t = {0, 0, 0, 0};
    for (size_t k = 0; k < 3; ++k) {
      const double apart =
          std::hypot(p[i + k].first - p[i + k - 1].first, p[i + k].second - p[i + k - 1].second);
      t[k + 1] = t[k] + std::max(1e-6, std::sqrt(apart));
    }
    for (int s = 0; s <= kSteps; ++s) {
      const double u = t[1] + (t[2] - t[1]) * s / kSteps;
      const auto mix = [&](Point a, Point b, double from, double to) {
        const double share = (u - from) / (to - from);
        return Point{a.first + share * (b.first - a.first), a.second + share * (b.second - a.second)};
      };
      const Point a1 = mix(p[i - 1], p[i], t[0], t[1]), a2 = mix(p[i], p[i + 1], t[1], t[2]),
                  a3 = mix(p[i + 1], p[i + 2], t[2], t[3]);
      curve.push_back(mix(mix(a1, a2, t[0], t[2]), mix(a2, a3, t[1], t[3]), t[1], t[2]));
    }
  }
  return curve;
}

double mixed(double a, double b, double share) { return a + share * (b - a); }

Colour mixed(Colour a, Colour b, double share) {
  return {mixed(a.red, b.red, share), mixed(a.green, b.green, share), mixed(a.blue, b.blue, share)};
}

}  // namespace

DrawnPicture::DrawnPicture(int width, int height, Colour paper, uint32_t seed)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height), paper),
      random_(seed) {}

DrawnPicture& DrawnPicture::stroke(const Stroke& points, double width, Colour colour) {
  double x0 = 1e9, y0 = 1e9, x1 = -1e9, y1 = -1e9;
  for (const auto& [x, y] : points) {
    x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
  }
  const double margin = width / 2 + 2;
  for (int y = std::max(0, static_cast<int>(y0 - margin)); y < std::min<double>(height_, y1 + margin); ++y) {
    for (int x = std::max(0, static_cast<int>(x0 - margin)); x < std::min<double>(width_, x1 + margin); ++x) {
      double nearest = 1e9;
      for (size_t i = 0; i + 1 < points.size(); ++i) {
        const auto [ax, ay] = points[i];
        const double dx = points[i + 1].first - ax, dy = points[i + 1].second - ay;
        const double length = dx * dx + dy * dy;
        const double along = length == 0 ? 0 : std::clamp(((x - ax) * dx + (y - ay) * dy) / length, 0.0, 1.0);
        nearest = std::min(nearest, std::hypot(x - ax - along * dx, y - ay - along * dy));
      }
      const double share = std::clamp(width / 2 - nearest + 0.5, 0.0, 1.0);
      if (share > 0) at(x, y) = mixed(at(x, y), colour, share);
    }
  }
  return *this;
}

DrawnPicture& DrawnPicture::write(const std::string& text, double left, double top, double height,
                                  const Pen& pen, double spacing) {
  for (const char character : text) {
    const Glyph& shape = glyph(character);
    for (const Stroke& drawn : shape.strokes) {
      Stroke points = drawn;
      for (auto& [x, y] : points) {
        x += shaken(pen.shake) + pen.slant * (1 - y) / shape.aspect;
        y += shaken(pen.shake);
      }
      points = spline(points);
      for (auto& [x, y] : points) x = left + x * shape.aspect * height, y = top + y * height;
      stroke(points, pen.width * height, pen.colour);
    }
    left += (shape.aspect + spacing) * height;
  }
  return *this;
}

DrawnPicture& DrawnPicture::lines(double distance, Colour colour, bool squares, double width) {
  const double w = width_, h = height_;
  for (double y = 0.6 * distance; y < h; y += distance) stroke({{-9, y}, {w + 9, y}}, width, colour);
  for (double x = 0.4 * distance; squares && x < w; x += distance)
    stroke({{x, -9}, {x, h + 9}}, width, colour);
  return *this;
}

DrawnPicture& DrawnPicture::noise(double sigma) {
  for (Colour& pixel : pixels_) {
    const double grey = shaken(sigma);
    pixel = {pixel.red + grey + shaken(0.3 * sigma), pixel.green + grey,
             pixel.blue + grey + shaken(0.3 * sigma)};
  }
  return *this;
}

DrawnPicture& DrawnPicture::light(const std::function<double(double, double)>& factor) {
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x)
      at(x, y) = mixed({0, 0, 0}, at(x, y), factor((x + 0.5) / width_, (y + 0.5) / height_));
  }
  return *this;
}

DrawnPicture& DrawnPicture::glare(double x, double y, double radius, double strength) {
  for (int row = 0; row < height_; ++row) {
    for (int column = 0; column < width_; ++column) {
      const double distance = std::hypot(column - x * width_, row - y * height_) / (radius * width_);
      at(column, row) = mixed(at(column, row), {255, 255, 255}, strength * std::exp(-distance * distance));
    }
  }
  return *this;
}

DrawnPicture& DrawnPicture::fill(const std::function<bool(double, double)>& inside, Colour colour) {
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      if (inside(x, y)) at(x, y) = colour;
    }
  }
  return *this;
}

DrawnPicture& DrawnPicture::perspective(const std::vector<Point>& corners, Colour table) {
  const std::vector<Colour> sheet = pixels_;
  const Stroke c = {{corners[0].first * width_, corners[0].second * height_},
                    {(1 + corners[1].first) * width_, corners[1].second * height_},
                    {(1 + corners[2].first) * width_, (1 + corners[2].second) * height_},
                    {corners[3].first * width_, (1 + corners[3].second) * height_}};
  // The square's projection on the four corners: x = (a u + b v + c) / (g u + h v + 1), solved for u and v. Heckbert,
  // "Fundamentals of texture mapping and image warping" (1989), 2.2.
  const double sx = c[0].first - c[1].first + c[2].first - c[3].first,
               sy = c[0].second - c[1].second + c[2].second - c[3].second;
  const double dx1 = c[1].first - c[2].first, dx2 = c[3].first - c[2].first, dy1 = c[1].second - c[2].second,
               dy2 = c[3].second - c[2].second, det = dx1 * dy2 - dx2 * dy1;
  const double g = (sx * dy2 - dx2 * sy) / det, h = (dx1 * sy - sx * dy1) / det;
  const double a = c[1].first - c[0].first + g * c[1].first, b = c[3].first - c[0].first + h * c[3].first;
  const double d = c[1].second - c[0].second + g * c[1].second,
               e = c[3].second - c[0].second + h * c[3].second;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      // a u + b v + c0 = x (g u + h v + 1), and the same for y: two linear equations.
      const double m00 = a - x * g, m01 = b - x * h, m10 = d - y * g, m11 = e - y * h;
      const double r0 = x - c[0].first, r1 = y - c[0].second, determinant = m00 * m11 - m01 * m10;
      const double u = (r0 * m11 - m01 * r1) / determinant * width_,
                   v = (m00 * r1 - r0 * m10) / determinant * height_;
      if (u < 0 || v < 0 || u > width_ - 1 || v > height_ - 1) {
        at(x, y) = table;
        continue;
      }
      const int left = std::min(static_cast<int>(u), width_ - 2),
                top = std::min(static_cast<int>(v), height_ - 2);
      const auto from = [&](int px, int py) {
        return sheet[static_cast<size_t>(py) * static_cast<size_t>(width_) + static_cast<size_t>(px)];
      };
      at(x, y) = mixed(mixed(from(left, top), from(left + 1, top), u - left),
                       mixed(from(left, top + 1), from(left + 1, top + 1), u - left), v - top);
    }
  }
  return *this;
}

DrawnPicture& DrawnPicture::blur(int radius) {
  const std::vector<Colour> sharp = pixels_;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      Colour sum{0, 0, 0};
      double count = 0;
      for (int ny = std::max(y - radius, 0); ny <= std::min(y + radius, height_ - 1); ++ny) {
        for (int nx = std::max(x - radius, 0); nx <= std::min(x + radius, width_ - 1); ++nx, ++count) {
          const Colour& pixel =
              sharp[static_cast<size_t>(ny) * static_cast<size_t>(width_) + static_cast<size_t>(nx)];
          sum = {sum.red + pixel.red, sum.green + pixel.green, sum.blue + pixel.blue};
        }
      }
      at(x, y) = mixed({0, 0, 0}, sum, 1 / count);
    }
  }
  return *this;
}

Picture DrawnPicture::picture() const {
  Picture made = make_picture(width_, height_, 3, {});
  for (const Colour& pixel : pixels_) {
    for (const double value : {pixel.red, pixel.green, pixel.blue})
      made.pixels.push_back(static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0))));
  }
  return made;
}

Picture DrawnPicture::photo(int quality) const { return decode_picture(jpeg(picture(), quality), "photo"); }

}  // namespace lenslet::test
