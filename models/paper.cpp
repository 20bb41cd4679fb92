#include "models/paper.h"

#include <algorithm>
#include <cmath>

#include "framework/base/error.h"

namespace lenslet {
namespace {

constexpr float kClearContrast = 70;  // grey levels
constexpr float kMaxShadow = 0.75f;   // of the ink's depth
constexpr float kMaxLight = 3;        // largest factor by which dark paper is brightened
constexpr int kMaxSamples = 96;       // along a side

// A picture's grey plane, and every stride-th pixel of it, which are enough to fit the paper.
struct Sampled {
  const Plane& full;
  int stride;
  Plane samples;

  explicit Sampled(const Plane& grey)
      : full(grey),
        stride((std::max(grey.width, grey.height) + kMaxSamples - 1) / kMaxSamples),
        samples(sample(grey, stride)) {}
};

// A band along the edges, which is paper in most pictures.
std::vector<uint8_t> edge_region(const Plane& plane) {
  const int band = std::max(1, std::min(plane.width, plane.height) / 12);
  std::vector<uint8_t> region(plane.values.size(), 0);
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) {
      region[plane.index(x, y)] = x < band || y < band || x >= plane.width - band || y >= plane.height - band;
    }
  }
  return region;
}

struct Paper {
  Quadratic surface;
  std::vector<float> difference;  // grey minus paper of each sample
  float sigma = 0;                // of the paper's texture and noise, grey levels
};

// Fits the paper to the samples of `region` a few times, each time without outliers such as strokes or a frame.
Paper fit_paper(const Sampled& grey, const std::vector<uint8_t>& region) {
  const Plane& samples = grey.samples;
  std::vector<float> values;
  for (size_t i = 0; i < region.size(); ++i) {
    if (region[i]) values.push_back(samples.values[i]);
  }
  const float median = percentile(values, 0.5);
  std::vector<float> difference(samples.values.size());
  for (size_t i = 0; i < difference.size(); ++i) difference[i] = samples.values[i] - median;
  std::vector<uint8_t> inliers(region.size());
  constexpr int kRounds = 4;
  for (int round = 0;; ++round) {
    values.clear();
    for (size_t i = 0; i < region.size(); ++i) {
      if (region[i]) values.push_back(std::abs(difference[i]));
    }
    const float sigma = 1.4826f * percentile(values, 0.5);  // of normal noise, from its median
    const float limit = std::max(2.5f * sigma, kMinGate);
    float low = 255, high = 0;
    for (size_t i = 0; i < region.size(); ++i) {
      inliers[i] = region[i] && std::abs(difference[i]) <= limit;
      if (!inliers[i]) continue;
      low = std::min(low, samples.values[i]);
      high = std::max(high, samples.values[i]);
    }
    Quadratic surface(samples, inliers, grey.stride, grey.full.width, grey.full.height);
    // Limited to values near the samples, because a quadratic diverges away from them.
    surface.clamp_to(low - 10.0, high + 10.0);
    for (int y = 0; y < samples.height; ++y) {
      for (int x = 0; x < samples.width; ++x) {
        const size_t i = samples.index(x, y);
        difference[i] = samples.values[i] - surface.at(x * grey.stride, y * grey.stride);
      }
    }
    if (round + 1 == kRounds) return {surface, std::move(difference), sigma};
  }
}

// Sum of the squared differences from the paper, of samples on its dark (-1) or light (+1) side.
double deviation(const Paper& paper, int side) {
  const float gate = std::max(3 * paper.sigma, 2 * kMinGate);
  double sum = 0;
  for (const float difference : paper.difference) {
    const double d = static_cast<double>(side) * difference;
    if (d > gate) sum += d * d;
  }
  return sum;
}

struct Separation {
  int side;  // -1: the ink is darker than the paper, +1: lighter
  Paper paper;
  double contrast;  // mean depth of the samples that are not paper
};

Separation separate(const Plane& plane) {
  const Sampled grey(plane);
  Paper paper = fit_paper(grey, edge_region(grey.samples));
  const int side = deviation(paper, -1) >= deviation(paper, +1) ? -1 : +1;
  // Fit again with all samples now classified as paper, also inside.
  for (int round = 0; round < 2; ++round) {
    const float gate = std::max(4 * paper.sigma, 2 * kMinGate);
    std::vector<float> marked;
    for (const float difference : paper.difference) {
      if (static_cast<float>(side) * difference > gate)
        marked.push_back(static_cast<float>(side) * difference);
    }
    const float limit = std::max(gate, 0.3f * percentile(marked, 0.9));
    std::vector<uint8_t> region(grey.samples.values.size());
    size_t count = 0;
    for (size_t i = 0; i < region.size(); ++i) count += region[i] = std::abs(paper.difference[i]) < limit;
    if (count < region.size() / 4) break;  // hardly any paper: the fit to the edges is better
    paper = fit_paper(grey, region);
  }
  double sum = 0, count = 1;
  for (const float difference : paper.difference) {
    const float depth = static_cast<float>(side) * difference;
    if (depth <= std::max(4 * paper.sigma, kMinGate)) continue;
    sum += depth;
    ++count;
  }
  return {side, std::move(paper), sum / count};
}

// Shadows: the edge of a shadow does not fit a smooth surface. An area that is darker than the paper, wider than any
// stroke and lighter than the ink is a shadow. `side` is the side of the smallest such area.
bool is_shadowed(const Plane& samples, const Separation& separation, int side) {
  constexpr int kMinSide = 32;  // smaller pictures are drawn or cut out tightly, not photographed
  if (std::min(samples.width, samples.height) < kMinSide) return false;
  Plane depth(samples.width, samples.height);
  std::vector<float> marked;
  const float gate = std::max(3 * separation.paper.sigma, 2 * kMinGate);
  for (size_t i = 0; i < depth.values.size(); ++i) {
    depth.values[i] = static_cast<float>(separation.side) * separation.paper.difference[i];
    if (depth.values[i] > gate) marked.push_back(depth.values[i]);
  }
  const float strongest = percentile(marked, 0.98);
  const Plane shadow = wide_part(depth, side);
  const float deepest = *std::max_element(shadow.values.begin(), shadow.values.end());
  return deepest > gate && deepest < kMaxShadow * strongest;
}

// The depth of each pixel: its difference from the paper towards the ink, without shadows. For dark ink it is scaled to
// the light of the paper's brightest part, since less light makes paper and ink differ less.
Plane depth_of(const Plane& grey, const Separation& separation, std::vector<std::string>& steps) {
  const auto side = static_cast<float>(separation.side);
  Plane paper(grey.width, grey.height), depth(grey.width, grey.height);
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) {
      paper.at(x, y) = separation.paper.surface.at(x, y);
      depth.at(x, y) = side * (grey.at(x, y) - paper.at(x, y));
    }
  }
  const Sampled sampled(grey);
  const int area = std::max({5, sampled.samples.width / 4, sampled.samples.height / 4});
  if (is_shadowed(sampled.samples, separation, area)) {
    const Plane shadow = wide_part(depth, area * sampled.stride);
    for (size_t i = 0; i < depth.values.size(); ++i) {
      depth.values[i] -= shadow.values[i];
      paper.values[i] += side * shadow.values[i];
    }
    steps.push_back("light: a shadow, evened out");
  }
  const float brightest = *std::max_element(paper.values.begin(), paper.values.end());
  for (size_t i = 0; i < depth.values.size(); ++i) {
    if (separation.side < 0)
      depth.values[i] *= std::min(brightest / std::max(paper.values[i], 1.0f), kMaxLight);
    if (depth.values[i] < 0.5f) depth.values[i] = 0;
  }
  return depth;
}

}  // namespace

GreyPlanes grey_planes(const Image& image, const Box& part, int max_side) {
  GreyPlanes result;
  const int factor = (part.longer() + max_side - 1) / max_side;
  result.factor = factor;
  const int width = (part.width() + factor - 1) / factor, height = (part.height() + factor - 1) / factor;
  const auto channels = static_cast<size_t>(image.channels);
  const bool coloured = channels >= 3, has_alpha = channels % 2 == 0;

  // Sums over factor x factor pixels of each colour times alpha, and of alpha.
  Plane colours[3], alpha(width, height);
  for (size_t c = 0; c < (coloured ? 3 : 1); ++c) colours[c] = Plane(width, height);
  std::vector<float> count(alpha.values.size(), 0);
  for (int y = 0; y < part.height(); ++y) {
    const size_t first = static_cast<size_t>(part.y0 + y) * static_cast<size_t>(image.width);
    const uint8_t* pixel = image.pixels.data() + (first + static_cast<size_t>(part.x0)) * channels;
    for (int x = 0; x < part.width(); ++x, pixel += channels) {
      const size_t i = alpha.index(x / factor, y / factor);
      const float a = has_alpha ? static_cast<float>(pixel[channels - 1]) / 255 : 1;
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
      // Luma of ITU-R BT.601.
      planes[0].values[i] = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
      for (size_t c = 0; c < 3; ++c) planes[c + 1].values[i] = rgb[c];
      vivid += std::max({rgb[0], rgb[1], rgb[2]}) - std::min({rgb[0], rgb[1], rgb[2]}) > 30;
    }
    if (vivid * 500 < count.size()) planes.resize(1);  // no colour: all four planes are the same
    return planes;
  };
  const auto range = [](const Plane& plane) {
    const auto [low, high] = std::minmax_element(plane.values.begin(), plane.values.end());
    return *high - *low;
  };
  result.planes = over(255);
  if (has_alpha && range(result.planes[0]) < kFaintLevel) {
    std::vector<Plane> black = over(0);
    if (range(black[0]) > 2 * range(result.planes[0])) {
      result.planes = std::move(black);
      result.over_black = true;
    }
  }
  return result;
}

Depth depth_on_paper(const GreyPlanes& grey, std::vector<std::string>& steps) {
  constexpr const char* kNames[] = {"luma", "red", "green", "blue"};
  size_t plane = 0;
  Separation best = separate(grey.planes[0]);
  // Luma, unless a channel shows much more, as blue does for yellow on white.
  for (size_t i = 1; i < grey.planes.size() && best.contrast < kClearContrast; ++i) {
    Separation other = separate(grey.planes[i]);
    if (other.contrast < 1.3 * best.contrast || other.contrast < kMinLevel) continue;
    best = std::move(other);
    plane = i;
  }
  if (grey.over_black) steps.push_back("alpha: over black, over white nothing shows");
  steps.push_back(concat("grey: ", kNames[plane]));
  Depth depth{depth_of(grey.planes[plane], best, steps), best.paper.sigma};
  const int right = depth.plane.width - 1, bottom = depth.plane.height - 1;
  const auto corner = [&](int x, int y) { return best.paper.surface.at(x, y); };
  const auto [low, high] =
      std::minmax({corner(0, 0), corner(right, 0), corner(0, bottom), corner(right, bottom)});
  steps.push_back(concat("polarity: ", best.side < 0 ? "dark ink on light paper" : "light ink on dark paper",
                         ", paper level ", std::lround(low),
                         std::lround(high) > std::lround(low) ? concat(" to ", std::lround(high)) : ""));
  return depth;
}

}  // namespace lenslet
