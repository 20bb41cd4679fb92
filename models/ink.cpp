#include "models/ink.h"

#include <algorithm>
#include <cmath>

#include "framework/error.h"

namespace lenslet {
namespace {

// Grey levels. A difference below kMinLevel is not ink, even without noise. Ink below kFaintLevel gets a warning.
constexpr float kMinLevel = 14, kFaintLevel = 50, kClearContrast = 70;
constexpr float kMinGate = 5;     // paper of a clean picture
constexpr float kStrong = 0.45f;  // share of the ink's level that makes a mark, not a shadow or a faint line
constexpr float kMaxFloor = 0.35f;  // largest share of the ink's level that counts as paper
constexpr float kMinSignal =
    6;  // ratio of the ink's level to the paper's noise; below it, strong noise would pass for ink
constexpr float kMaxShadow = 0.75f;  // of the ink's depth
constexpr float kMaxLight = 3;       // largest factor by which dark paper is brightened
constexpr int kMaxSamples = 96;      // along a side
constexpr double kSpeck = 0.025;     // mass of a speck, of the largest mark's

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
    // Limited to values near the samples, because a quadratic diverges where there are none.
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

// Whether a mark is a frame around the digit, or the edge of a box that was cut out: ink in at least three of its
// corners.
bool is_frame(const Component& c, int32_t label, const std::vector<int32_t>& labels, const Plane& plane) {
  if (c.box.width() < 0.6 * plane.width || c.box.height() < 0.6 * plane.height) return false;
  // Shares of the longer side; a line is flatter than that.
  const int reach = std::max(1, c.box.longer() / 16);
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
  return corners >= 3;
}

// Whether a mark is a shadow or a line along an edge: inside a band there, or across most of the picture and touching
// an edge.
bool is_edge_mark(const Component& c, const Plane& plane) {
  if (!c.at_border) return false;
  const double band_x = 0.15 * plane.width, band_y = 0.15 * plane.height;
  const bool in_band = c.box.x1 <= band_x || c.box.y1 <= band_y || c.box.x0 >= plane.width - band_x ||
                       c.box.y0 >= plane.height - band_y;
  const bool across = c.box.width() >= 0.9 * plane.width || c.box.height() >= 0.9 * plane.height;
  return in_band || across;
}

Box merge(const Box& a, const Box& b) {
  if (a.width() == 0) return b;
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

// Whether two marks are side by side or one above the other, with a gap: possibly more than one digit.
bool stand_apart(const Box& a, const Box& b) {
  const double gap = 0.06 * std::max(a.longer(), b.longer());
  return b.x0 - a.x1 > gap || a.x0 - b.x1 > gap || b.y0 - a.y1 > gap || a.y0 - b.y1 > gap;
}

// Sets level and floor from the depths, and leaves only pixels connected to a strong one. Returns the marks.
std::vector<Component> find_marks(Ink& ink, float sigma, std::vector<int32_t>& labels) {
  const float gate = std::max(4 * sigma, kMinGate);
  std::vector<float> marked;
  for (const float d : ink.depth.values) {
    if (d > gate) marked.push_back(d);
  }
  ink.level = 0;
  if (marked.empty()) return {};
  const float strongest = percentile(marked, 0.98);
  if (strongest < std::max(kMinLevel, kMinSignal * sigma)) return {};

  // Pixels near the strokes, but not on their soft edge, are paper, with the noise of that place.
  const Plane distance = distance_to(ink.depth, kStrong * strongest);
  const float reach = std::max(8.0f, 0.05f * static_cast<float>(std::max(ink.depth.width, ink.depth.height)));
  std::vector<float> nearby;
  for (size_t i = 0; i < distance.values.size(); ++i) {
    if (distance.values[i] >= 3 && distance.values[i] <= reach) nearby.push_back(ink.depth.values[i]);
  }
  const float noise = percentile(nearby, 0.98);
  ink.floor = noise <= 1 && sigma < 0.5f
                  ? 0
                  : std::clamp(std::max(1.2f * noise, 3 * sigma), 0.05f * strongest, kMaxFloor * strongest);
  // In a clean picture the deepest pixel gives the level of the ink; in a noisy one it is an outlier.
  ink.level = ink.floor == 0 ? *std::max_element(marked.begin(), marked.end()) : strongest;
  std::vector<Component> marks = connected_components(ink.depth, ink.floor, labels);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != 0 && marks[static_cast<size_t>(labels[i] - 1)].peak < kStrong * ink.level) labels[i] = 0;
  }
  return marks;
}

}  // namespace

GreyPlanes grey_planes(const Image& image, int max_side) {
  GreyPlanes result;
  const int longer = std::max(image.width, image.height);
  const int factor = (longer + max_side - 1) / max_side;
  result.factor = factor;
  const int width = (image.width + factor - 1) / factor, height = (image.height + factor - 1) / factor;
  const auto channels = static_cast<size_t>(image.channels);
  const bool colored = channels >= 3, has_alpha = channels % 2 == 0;

  // Sums over factor x factor pixels of each colour times alpha, and of alpha.
  Plane colors[3], alpha(width, height);
  for (size_t c = 0; c < (colored ? 3 : 1); ++c) colors[c] = Plane(width, height);
  std::vector<float> count(alpha.values.size(), 0);
  const uint8_t* pixel = image.pixels.data();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x, pixel += channels) {
      const size_t i = alpha.index(x / factor, y / factor);
      const float a = has_alpha ? static_cast<float>(pixel[channels - 1]) / 255 : 1;
      for (size_t c = 0; c < (colored ? 3 : 1); ++c) colors[c].values[i] += a * pixel[c];
      alpha.values[i] += a;
      count[i] += 1;
    }
  }
  const auto over = [&](float background) {
    std::vector<Plane> planes(colored ? 4 : 1, Plane(width, height));
    size_t vivid = 0;
    for (size_t i = 0; i < count.size(); ++i) {
      float rgb[3];
      for (size_t c = 0; c < (colored ? 3 : 1); ++c)
        rgb[c] = (colors[c].values[i] + (count[i] - alpha.values[i]) * background) / count[i];
      if (!colored) {
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

Ink find_ink(const GreyPlanes& grey) {
  constexpr const char* kNames[] = {"luma", "red", "green", "blue"};
  Ink ink;
  size_t plane = 0;
  Separation best = separate(grey.planes[0]);
  // Luma, unless a channel shows much more, as blue does for yellow on white.
  for (size_t i = 1; i < grey.planes.size() && best.contrast < kClearContrast; ++i) {
    Separation other = separate(grey.planes[i]);
    if (other.contrast < 1.3 * best.contrast || other.contrast < kMinLevel) continue;
    best = std::move(other);
    plane = i;
  }
  if (grey.over_black) ink.steps.push_back("alpha: over black, over white nothing shows");
  ink.steps.push_back(concat("grey: ", kNames[plane]));
  ink.depth = depth_of(grey.planes[plane], best, ink.steps);
  const int right = ink.depth.width - 1, bottom = ink.depth.height - 1;
  const auto corner = [&](int x, int y) { return best.paper.surface.at(x, y); };
  const auto [low, high] =
      std::minmax({corner(0, 0), corner(right, 0), corner(0, bottom), corner(right, bottom)});
  ink.steps.push_back(concat(
      "polarity: ", best.side < 0 ? "dark ink on light paper" : "light ink on dark paper", ", paper level ",
      std::lround(low), std::lround(high) > std::lround(low) ? concat(" to ", std::lround(high)) : ""));

  std::vector<int32_t> labels;
  std::vector<Component> marks;
  bool left_out = false;
  // A removed mark may have been the strongest, so levels are computed again from the rest.
  for (int round = 0; round < 3; ++round) {
    marks = find_marks(ink, best.paper.sigma, labels);
    if (ink.level == 0) break;
    const auto is_digit_sized = [&](const Component& c) {
      return c.peak >= kStrong * ink.level &&
             c.box.longer() >= std::max(4.0, 0.12 * std::min(ink.depth.width, ink.depth.height));
    };
    std::vector<uint8_t> drop(marks.size(), 0);
    bool other = false;
    for (size_t i = 0; i < marks.size(); ++i) {
      drop[i] = is_edge_mark(marks[i], ink.depth) ||
                is_frame(marks[i], static_cast<int32_t>(i + 1), labels, ink.depth);
      other = other || (!drop[i] && is_digit_sized(marks[i]));
    }
    bool dropped = false;
    for (size_t i = 0; i < labels.size() && other; ++i) {
      if (labels[i] == 0 || !drop[static_cast<size_t>(labels[i] - 1)]) continue;
      ink.depth.values[i] = 0;
      dropped = true;
    }
    left_out = left_out || dropped;
    if (!dropped) break;
  }
  if (left_out) ink.warnings.push_back("a line, frame or shadow at the edge was left out");

  double largest = 0;
  for (const Component& c : marks)
    largest = c.peak >= kStrong * ink.level ? std::max(largest, c.mass) : largest;
  std::vector<Component> kept;
  bool at_border = false;
  for (size_t i = 0; i < marks.size() && ink.level > 0; ++i) {
    const Component& c = marks[i];
    if (c.peak < kStrong * ink.level || c.mass < kSpeck * largest) {
      marks[i].mass = 0;
      continue;
    }
    kept.push_back(c);
    ink.box = merge(ink.box, c.box);
    at_border = at_border || c.at_border;
  }
  // One or two pixels in a large picture are dust or noise.
  const int side = std::max(ink.depth.width, ink.depth.height);
  if (ink.box.longer() < std::max(2, side / 50)) ink.level = 0;
  if (ink.level == 0) {
    ink.steps.push_back("ink: none found");
    return ink;
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 0 || marks[static_cast<size_t>(labels[i] - 1)].mass == 0) ink.depth.values[i] = 0;
  }
  ink.steps.push_back(concat("ink: ", kept.size(), kept.size() == 1 ? " mark" : " marks", ", depth ",
                             std::lround(ink.level), ", paper up to ", std::lround(ink.floor)));
  if (ink.level < kFaintLevel)
    ink.warnings.push_back(
        concat("little contrast: the ink differs from the paper by ", std::lround(ink.level), " of 255"));
  if (at_border)
    ink.warnings.push_back("the digit touches the edge of the picture, part of it may be missing");
  ink.clear_edge = !at_border && !left_out;
  bool apart = false;
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t k = i + 1; k < kept.size(); ++k) {
      apart = apart ||
              (std::min(kept[i].mass, kept[k].mass) > 0.2 * largest && stand_apart(kept[i].box, kept[k].box));
    }
  }
  if (apart) ink.warnings.push_back("two or more separate marks, expected one digit");
  return ink;
}

}  // namespace lenslet
