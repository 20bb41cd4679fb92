// Thresholds without a source were chosen by hand, on the drawn 2 of tests/models/digit_image_test.cpp: in either
// polarity, in colours and with alpha, in uneven light, in shadow and under noise. DigitImage.Takes* and
// DigitImage.ALargeFaintAreaIsNotTheInk hold them, and for numbers the photographs of number_pictures.cpp beside it, in
// Numbers.AreReadInDrawnPicturesOrRefused.
#include "models/digit/paper.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "models/digit/paper_areas.h"

namespace lenslet {
namespace {

constexpr float kClearContrast = 70;  // grey levels: if luma has this contrast, no channel is tried
constexpr float kMaxLight = 3;        // largest factor by which dark paper is brightened
constexpr int kMaxSamples = 96;       // along a side
constexpr int kSoftEdge = 1;          // samples on each side of the border of an area
constexpr int kSoftReach = 2;  // samples on each side of one in a soft shadow that are compared with it
constexpr int kEdgeReach = 6;  // samples on each side of one at the edge of a shadow that show its levels
// In a soft shadow at the picture's edge at least kSoftPaper of the samples around one are paper, and kSoftAlike of
// these are alike. Away from the edge, where it may be a stroke, all are.
constexpr double kSoftPaper = 0.5, kSoftAlike = 0.8;
// The paper's noise is at most so many times that of samples beside each other: what the fit leaves is a shadow.
constexpr float kMaxMisfit = 2, kMinSigma = kMinGate / kInkSigmas;
constexpr int kBandsOfSide = 12;  // the band along an edge is 1/kBandsOfSide of the shorter side
// Normal noise has a sigma of so many times the median of its absolute values: 1 / the normal distribution's 75th
// percentile (Rousseeuw and Croux, "Alternatives to the median absolute deviation", JASA 88 (1993) 1273, section 1).
constexpr float kSigmaOfMedian = 1.4826f;
// The paper is fitted to the samples within so many sigmas of it: the usual limit of reweighted least squares
// (Rousseeuw and Leroy, "Robust Regression and Outlier Detection", 1987).
constexpr float kInlierSigmas = 2.5f;
constexpr double kBeyondSamples = 10;     // grey levels: the paper's surface stays so near the samples' range
constexpr float kTexture = 2 * kMinGate;  // largest difference within textured paper, grey levels
constexpr double kDeepInk = 0.9;          // percentile of the depths that stands for the ink's depth
constexpr float kSoftInk = 0.3f;          // of that depth: from here on a sample is a stroke or its soft edge
constexpr size_t kMinPaper = 4;           // at least 1/kMinPaper of the samples must be paper
constexpr double kClearer = 1.3;   // a channel with this many times the contrast is read instead of luma
constexpr float kMinDepth = 0.5f;  // grey levels: less is rounding

// Pixels from one sample to the next.
int stride_of(const Plane& grey) {
  return static_cast<int>(ceil_div(std::max(grey.width, grey.height), kMaxSamples));
}

// A picture's grey plane, and every stride-th pixel of it: these samples are enough to fit the paper.
struct Sampled {
  const Plane& full;
  int stride;
  Plane samples;

  explicit Sampled(const Plane& grey) : full(grey), stride(stride_of(grey)), samples(sample(grey, stride)) {}
};

// A band along the edges, which is paper in most pictures.
std::vector<uint8_t> edge_region(const Plane& plane) {
  const int band = std::max(1, std::min(plane.width, plane.height) / kBandsOfSide);
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

// The paper at each sample: by how much its level differs from the surface, in a shadow or in sunlight (grey levels),
// and whether it lies beside the sheet. Samples of ink have the values of the nearest sample of paper.
struct Uneven {
  Plane level;
  std::vector<uint8_t> beside;
  bool any_level = false, any_beside = false;
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
  constexpr int kRounds = 4;  // each without outliers of the fit before. Chosen by hand: no file compares
  for (int round = 0;; ++round) {
    values.clear();
    for (size_t i = 0; i < region.size(); ++i) {
      if (region[i]) values.push_back(std::abs(difference[i]));
    }
    const float sigma = kSigmaOfMedian * percentile(values, 0.5);
    const float limit = std::max(kInlierSigmas * sigma, kMinGate);
    float low = kMaxByte, high = 0;
    for (size_t i = 0; i < region.size(); ++i) {
      inliers[i] = region[i] && std::abs(difference[i]) <= limit;
      if (!inliers[i]) continue;
      low = std::min(low, samples.values[i]);
      high = std::max(high, samples.values[i]);
    }
    Quadratic surface(samples, inliers, grey.stride, grey.full.width, grey.full.height);
    // Limited to values near the samples, because a quadratic diverges away from them.
    surface.clamp_to(low - kBeyondSamples, high + kBeyondSamples);
    for (int y = 0; y < samples.height; ++y) {
      for (int x = 0; x < samples.width; ++x) {
        const size_t i = samples.index(x, y);
        difference[i] = samples.values[i] - surface.at(x * grey.stride, y * grey.stride);
      }
    }
    if (round + 1 == kRounds) return {surface, std::move(difference), sigma};
  }
}

// The paper's noise from samples beside each other, whose light is the same. A soft shadow, which no quadratic fits,
// does not raise it.
float noise_of(const Plane& samples, const PaperAreas& areas) {
  std::vector<float> steps;
  for (int y = 0; y < samples.height; ++y) {
    for (int x = 0; x + 1 < samples.width; ++x) {
      const size_t i = samples.index(x, y);
      if (areas.kind[i] == PaperAreas::kMain && areas.kind[i + 1] == PaperAreas::kMain)
        steps.push_back(std::abs(samples.values[i + 1] - samples.values[i]));
    }
  }
  return kSigmaOfMedian * percentile(steps, 0.5) / std::sqrt(2.0f);
}

Uneven uneven_light(const Plane& samples, const PaperAreas& areas, const Paper& paper) {
  const std::vector<uint8_t>& kind = areas.kind;
  const std::vector<float>& difference = paper.difference;
  const float gate = std::max(kNoiseSigmas * paper.sigma, kTexture);
  Uneven uneven{Plane(samples.width, samples.height), std::vector<uint8_t>(kind.size())};
  std::vector<uint8_t> known(kind.size());
  std::vector<size_t> order;
  const auto set = [&](size_t i, float level, uint8_t beside) {
    known[i] = 1;
    uneven.level.values[i] = level;
    uneven.beside[i] = beside;
    uneven.any_level = uneven.any_level || level != 0;
    uneven.any_beside = uneven.any_beside || beside;
    order.push_back(i);
  };
  for (size_t i = 0; i < kind.size(); ++i) {
    const bool near = std::abs(difference[i]) <= gate;
    if (kind[i] == PaperAreas::kBeside || kind[i] == PaperAreas::kOther ||
        (kind[i] == PaperAreas::kMain && near))
      set(i, near ? 0 : difference[i], kind[i] == PaperAreas::kBeside);
  }
  const auto is_unlike = [&](size_t i) { return !known[i] && kind[i] == PaperAreas::kMain; };
  const std::vector<uint8_t> at_edge = reached_from_edge(samples, is_unlike);
  std::vector<float> around;
  // Samples of the main area whose level differs from the surface: a soft shadow if the paper around them differs to
  // the same side, otherwise the soft edge of a stroke. They have the median level of that paper. A shadow goes on
  // beyond the picture, and lines of the paper may cross it there.
  std::vector<std::pair<size_t, float>> soft;
  for (int y = 0; y < samples.height; ++y) {
    for (int x = 0; x < samples.width; ++x) {
      const size_t i = samples.index(x, y);
      if (!is_unlike(i)) continue;
      size_t same = 0, all = 0;
      around.clear();
      for_each_around(samples, x, y, kSoftReach, [&](size_t k) {
        ++all;
        if (kind[k] == PaperAreas::kMark) return;
        around.push_back(difference[k]);
        same += difference[k] * difference[i] > 0;
      });
      const bool alike =
          at_edge[i] ? around.size() >= kSoftPaper * static_cast<double>(all) &&
                           static_cast<double>(same) >= kSoftAlike * static_cast<double>(around.size())
                     : same == all;
      if (alike) soft.emplace_back(i, percentile(around, 0.5));
    }
  }
  for (const auto& [i, level] : soft) set(i, level, 0);
  // Samples between paper of two levels: the edge of a shadow that is too steep to belong to an area, if the median
  // around them, which thin strokes hardly change, is between these levels.
  std::vector<std::pair<size_t, float>> edges;
  for (int y = 0; y < samples.height && uneven.any_level; ++y) {
    for (int x = 0; x < samples.width; ++x) {
      if (known[samples.index(x, y)]) continue;
      float low = kMaxByte, high = -kMaxByte;
      for_each_around(samples, x, y, kEdgeReach, [&](size_t k) {
        if (!known[k] || uneven.beside[k]) return;
        low = std::min(low, uneven.level.values[k]);
        high = std::max(high, uneven.level.values[k]);
      });
      if (high - low <= gate) continue;
      around.clear();
      for_each_around(samples, x, y, kSoftReach, [&](size_t k) {
        if (!uneven.beside[k]) around.push_back(difference[k]);
      });
      const float median = percentile(around, 0.5);
      if (median >= low && median <= high) edges.emplace_back(samples.index(x, y), median);
    }
  }
  for (const auto& [i, level] : edges) set(i, level, 0);
  for (size_t next = 0; next < order.size(); ++next) {  // breadth first, so from the nearest
    const size_t from = order[next];
    const auto width = static_cast<size_t>(samples.width);
    for_each_around(samples, static_cast<int>(from % width), static_cast<int>(from / width), 1,
                    [&](size_t i) {
                      if (!known[i]) set(i, uneven.level.values[from], uneven.beside[from]);
                    });
  }
  return uneven;
}

struct Separation {
  int side;  // -1: the ink is darker than the paper, +1: lighter
  Paper paper;
  Uneven uneven;
  double contrast;  // mean depth of the samples that are not paper
};

// Sum of the squared differences from the paper, of samples on its dark (-1) or light (+1) side.
double deviation(const Paper& paper, const PaperAreas& areas, const Uneven& uneven, int side) {
  const float gate = std::max(kNoiseSigmas * paper.sigma, kTexture);
  double sum = 0;
  for (size_t i = 0; i < paper.difference.size(); ++i) {
    const double d = static_cast<double>(side) * (paper.difference[i] - uneven.level.values[i]);
    if (!areas.on_paper(i) || uneven.beside[i]) continue;
    if (d > gate) sum += d * d;
  }
  return sum;
}

Separation separate(const Plane& plane) {
  const Sampled grey(plane);
  const PaperAreas areas = find_paper_areas(grey.samples);
  const float noise = noise_of(grey.samples, areas);
  const auto fit = [&](const std::vector<uint8_t>& region) {
    Paper paper = fit_paper(grey, region);
    if (areas.main_share > 0) paper.sigma = std::min(paper.sigma, std::max(kMaxMisfit * noise, kMinSigma));
    return paper;
  };
  Paper paper = fit(areas.main_share > 0 ? areas.main() : edge_region(grey.samples));
  Uneven uneven = uneven_light(grey.samples, areas, paper);
  const int side = deviation(paper, areas, uneven, -1) >= deviation(paper, areas, uneven, +1) ? -1 : +1;
  const auto depth = [&](size_t i) {
    if (!areas.on_paper(i) || uneven.beside[i]) return 0.0f;
    return static_cast<float>(side) * (paper.difference[i] - uneven.level.values[i]);
  };
  // Fit again to all samples that the first fit takes for paper, also away from the edges.
  // Chosen by hand: each costs a fit, and changes nothing once the limit between paper and ink stays the same.
  constexpr int kRefits = 2;
  for (int round = 0; round < kRefits; ++round) {
    const float gate = std::max(kInkSigmas * paper.sigma, kTexture);
    std::vector<float> marked;
    for (size_t i = 0; i < paper.difference.size(); ++i) {
      if (depth(i) > gate) marked.push_back(depth(i));
    }
    const float limit = std::max(gate, kSoftInk * percentile(marked, kDeepInk));
    std::vector<uint8_t> region(grey.samples.values.size());
    size_t count = 0;
    for (size_t i = 0; i < region.size(); ++i)
      count += region[i] = std::abs(paper.difference[i]) < limit && areas.on_paper(i);
    if (count < region.size() / kMinPaper) break;  // hardly any paper: the first fit is better
    paper = fit(region);
    uneven = uneven_light(grey.samples, areas, paper);
  }
  double sum = 0, count = 1;
  for (size_t i = 0; i < paper.difference.size(); ++i) {
    if (depth(i) <= std::max(kInkSigmas * paper.sigma, kMinGate)) continue;
    sum += depth(i);
    ++count;
  }
  return {side, std::move(paper), std::move(uneven), sum / count};
}

// The depth of each pixel: its difference from the paper towards the ink, without shadows, and 0 beside the sheet. For
// dark ink it is scaled to the light of the paper's brightest part: in less light, paper and ink differ less.
Plane depth_of(const Plane& grey, const Separation& separation, std::vector<std::string>& steps) {
  const auto side = static_cast<float>(separation.side);
  const Uneven& uneven = separation.uneven;
  const int stride = stride_of(grey);
  Plane paper(grey.width, grey.height), depth(grey.width, grey.height);
  std::vector<uint8_t> left_out(depth.values.size());
  float brightest = 0;
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) {
      // The level nearest to the ink's among the samples around: the border of an area lies between samples.
      float level = uneven.level.at(x / stride, y / stride);
      bool beside = false;
      for (int ny = y / stride - kSoftEdge; ny <= y / stride + kSoftEdge; ++ny) {
        for (int nx = x / stride - kSoftEdge; nx <= x / stride + kSoftEdge; ++nx) {
          if (nx < 0 || ny < 0 || nx >= uneven.level.width || ny >= uneven.level.height) continue;
          const float value = uneven.level.at(nx, ny);
          if (side * value > side * level) level = value;
          beside = beside || uneven.beside[uneven.level.index(nx, ny)];
        }
      }
      left_out[paper.index(x, y)] = beside;
      if (beside) continue;
      paper.at(x, y) = separation.paper.surface.at(x, y) + level;
      brightest = std::max(brightest, paper.at(x, y));
    }
  }
  for (size_t i = 0; i < depth.values.size(); ++i) {
    if (left_out[i]) continue;
    depth.values[i] = side * (grey.values[i] - paper.values[i]);
    if (separation.side < 0)
      depth.values[i] *= std::min(brightest / std::max(paper.values[i], 1.0f), kMaxLight);
    if (depth.values[i] < kMinDepth) depth.values[i] = 0;
  }
  if (uneven.any_beside) steps.push_back("paper: what lies beside it was left out");
  if (uneven.any_level) steps.push_back("light: a shadow, evened out");
  return depth;
}

}  // namespace

Depth depth_on_paper(const GreyPlanes& grey, std::vector<std::string>& steps) {
  constexpr const char* kNames[] = {"luma", "red", "green", "blue"};
  size_t plane = 0;
  Separation best = separate(grey.planes[0]);
  // Luma, unless a channel shows much more, as blue does for yellow on white.
  for (size_t i = 1; i < grey.planes.size() && best.contrast < kClearContrast; ++i) {
    Separation other = separate(grey.planes[i]);
    if (other.contrast < kClearer * best.contrast || other.contrast < kMinLevel) continue;
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
