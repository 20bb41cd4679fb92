// Thresholds were chosen by hand, on a drawn 2 in yellow, red and blue, and in white on a transparent background, which
// DigitImage.TakesColourAndAlpha in tests/models reads.
#include "models/digit/grey_planes.h"

#include <algorithm>

#include "framework/base/integer_math.h"
#include "models/digit/paper.h"

namespace lenslet {
namespace {

// A pixel is coloured if its largest and its smallest colour differ by more than kVivid, of 255. A picture has colour
// if at least one of kOneVividOf pixels is coloured.
constexpr float kVivid = 30;
constexpr size_t kOneVividOf = 500;
// A picture is meant to be over black if its grey levels span more than kShowsMore times the range that they span over
// white.
constexpr float kShowsMore = 2;

}  // namespace

GreyPlanes grey_planes(const Picture& picture, const Box& part, int max_side) {
  GreyPlanes result;
  const auto factor = static_cast<int>(ceil_div(part.longer(), max_side));
  result.factor = factor;
  const auto width = static_cast<int>(ceil_div(part.width(), factor));
  const auto height = static_cast<int>(ceil_div(part.height(), factor));
  const auto channels = static_cast<size_t>(picture.channels);
  const bool coloured = channels >= 3, has_alpha = channels % 2 == 0;

  // Sums over factor x factor pixels of each colour times alpha, and of alpha.
  Plane colours[3], alpha(width, height);
  for (size_t c = 0; c < (coloured ? 3 : 1); ++c) colours[c] = Plane(width, height);
  std::vector<float> count(alpha.values.size(), 0);
  for (int y = 0; y < part.height(); ++y) {
    const size_t first = static_cast<size_t>(part.y0 + y) * static_cast<size_t>(picture.width);
    const uint8_t* pixel = picture.pixels.data() + (first + static_cast<size_t>(part.x0)) * channels;
    for (int x = 0; x < part.width(); ++x, pixel += channels) {
      const size_t i = alpha.index(x / factor, y / factor);
      const float a = has_alpha ? static_cast<float>(pixel[channels - 1]) / kMaxByte : 1;
      for (size_t c = 0; c < (coloured ? 3 : 1); ++c) colours[c].values[i] += a * pixel[c];
      alpha.values[i] += a;
      count[i] += 1;
    }
  }
  const auto over = [&](float background) {
    std::vector<Plane> planes(coloured ? 4 : 1, Plane(width, height));
    size_t vivid = 0;
    for (size_t i = 0; i < count.size(); ++i) {
      float rgb[3];
      for (size_t c = 0; c < (coloured ? 3 : 1); ++c)
        rgb[c] = (colours[c].values[i] + (count[i] - alpha.values[i]) * background) / count[i];
      if (!coloured) {
        planes[0].values[i] = rgb[0];
        continue;
      }
      planes[0].values[i] = luma(rgb[0], rgb[1], rgb[2]);
      for (size_t c = 0; c < 3; ++c) planes[c + 1].values[i] = rgb[c];
      vivid += std::max({rgb[0], rgb[1], rgb[2]}) - std::min({rgb[0], rgb[1], rgb[2]}) > kVivid;
    }
    if (vivid * kOneVividOf < count.size()) planes.resize(1);  // no colour: all four planes are the same
    return planes;
  };
  const auto range = [](const Plane& plane) {
    const auto [low, high] = std::minmax_element(plane.values.begin(), plane.values.end());
    return *high - *low;
  };
  result.planes = over(kMaxByte);
  if (has_alpha && range(result.planes[0]) < kFaintLevel) {
    std::vector<Plane> black = over(0);
    if (range(black[0]) > kShowsMore * range(result.planes[0])) {
      result.planes = std::move(black);
      result.over_black = true;
    }
  }
  return result;
}

}  // namespace lenslet
