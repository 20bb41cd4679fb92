#include "apps/lenslet/candidates/drawn_digits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "layers/reference/fill.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;

// One polyline per digit, in a box from 0 to 1, y downwards.
const std::array<Stroke, 10>& strokes() {
  static const std::array<Stroke, 10> all = {{
      {{.5, 0}, {.85, .15}, {.95, .5}, {.8, .85}, {.5, 1}, {.2, .85}, {.05, .5}, {.15, .15}, {.5, 0}},
      {{.5, 0}, {.5, 1}},
      {{.1, .2}, {.3, 0}, {.7, 0}, {.9, .25}, {.7, .5}, {.1, 1}, {.9, 1}},
      {{.1, .05}, {.8, .05}, {.45, .45}, {.85, .7}, {.6, 1}, {.1, .9}},
      {{.7, 1}, {.7, 0}, {.1, .65}, {.95, .65}},
      {{.85, 0}, {.2, 0}, {.15, .45}, {.7, .4}, {.9, .7}, {.6, 1}, {.1, .95}},
      {{.75, 0}, {.3, .35}, {.15, .75}, {.5, 1}, {.85, .75}, {.5, .5}, {.2, .7}},
      {{.1, 0}, {.9, 0}, {.4, 1}},
      {{.5, .48}, {.15, .2}, {.5, 0}, {.85, .2}, {.5, .48}, {.1, .78}, {.5, 1}, {.9, .78}, {.5, .48}},
      {{.85, .3}, {.5, .5}, {.15, .25}, {.5, 0}, {.85, .3}, {.8, .7}, {.6, 1}},
  }};
  return all;
}

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy);
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

void draw(Stroke stroke, double pen, uint8_t* image) {
  for (int i = 0; i < kLenet5Pixels; ++i) {
    const Point pixel{static_cast<double>(i % kLenet5Side), static_cast<double>(i / kLenet5Side)};
    double nearest = HUGE_VAL;
    for (size_t k = 0; k + 1 < stroke.size(); ++k)
      nearest = std::min(nearest, distance(pixel, stroke[k], stroke[k + 1]));
    image[i] = static_cast<uint8_t>(std::lround(255 * std::clamp(pen + 0.5 - nearest, 0.0, 1.0)));
  }
}

}  // namespace

std::vector<uint8_t> drawn_digits(int64_t count, uint64_t seed) {
  constexpr int64_t kPixels = kLenet5Pixels;
  constexpr double kMiddle = 14;
  std::vector<uint8_t> pixels(static_cast<size_t>(count * kPixels));
  reference::Random random(seed);
  const auto between = [&random](double low, double high) {
    return low + (high - low) * (double{random.uniform()} + 1) / 2;
  };
  for (int64_t i = 0; i < count; ++i) {
    Stroke stroke = strokes()[static_cast<size_t>(i % 10)];
    // Ranges in pixels: as MNIST's digits, 17 to 20 high, with pens of 1.4 to 3.2.
    const double width = between(9, 15), height = between(17, 20), slant = between(-0.25, 0.25);
    const double x = kMiddle + between(-1.5, 1.5), y = kMiddle + between(-1.5, 1.5);
    for (Point& point : stroke) {
      const double up = (point.y - 0.5) * height;
      point = {x + (point.x - 0.5) * width - slant * up + between(-0.7, 0.7), y + up + between(-0.7, 0.7)};
    }
    draw(std::move(stroke), between(0.7, 1.6), pixels.data() + i * kPixels);
  }
  return pixels;
}

}  // namespace lenslet
