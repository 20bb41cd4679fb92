// Thresholds were chosen by hand, on sheets, tables, corners and squared paper around the drawn 2 of
// tests/models/digit_image_test.cpp (DigitImage.JudgesPaperByItsMainArea and ReadsFromASheetThatLiesOnSomething hold
// them), and on the photographs with a table, a sheet or squared paper of number_pictures.cpp beside it
// (Numbers.AreReadInDrawnPicturesOrRefused).
#include "models/digit/paper_areas.h"

#include <algorithm>
#include <cmath>

namespace lenslet {
namespace {

// Shares of the samples.
constexpr double kLarge = 0.12;      // an area of at least this size may be a sheet
constexpr double kMinMain = 0.25;    // a smaller main area is no paper, unless it is a sheet on something
constexpr double kMaxCut = 0.45;     // a smaller main area may be a piece of paper that lines cut
constexpr double kMinOther = 0.004;  // a smaller area at the edge is noise
constexpr double kMuchLarger = 2;    // lines cut the paper if it is so many times as large without them
// An area along at least this share of the picture's edge is paper that goes on beyond the picture.
constexpr double kMaxEdge = 0.5;
constexpr float kOrdinarySteps = 4;  // neighbours within an area differ by at most so many median differences
constexpr int kOtherLevel = 4;       // a sheet differs by so many times that limit from what it lies on
constexpr double kQuarterTurn = 1.5707963267948966;
// The marks on a sheet have at least kMinMarks of its samples, and it fills at least kMinSheet of the smallest
// rectangle around it.
constexpr double kMinMarks = 0.01, kMinSheet = 0.82;
constexpr int kLineSide = 3;     // samples: an area without a square of that side is a line
constexpr int kMedianReach = 2;  // samples to each side of a median
constexpr float kMinStep = 6;    // grey levels
// A table differs more from paper than paper in shadow does: the darker level is below kMaxShadow of the lighter one,
// and they are more than kMinTable grey levels apart.
constexpr double kMaxShadow = 0.45, kMinTable = 50;

struct Area {
  int count = 0, at_edge = 0;  // samples, and those on the edge of the picture
  Box box;
  double sum = 0;
  bool wide = false;
  double mean() const { return sum / count; }
  // A stroke that the picture cuts off leads away from the edge.
  bool along_edge() const { return 2 * at_edge >= box.longer(); }
};

// The median of the samples around each one. It removes thin strokes and the lines of ruled paper, which would cut the
// paper into pieces.
Plane without_lines(const Plane& samples) {
  Plane out(samples.width, samples.height);
  std::vector<float> around;
  for (int y = 0; y < samples.height; ++y) {
    for (int x = 0; x < samples.width; ++x) {
      around.clear();
      for (int ny = std::max(y - kMedianReach, 0); ny <= std::min(y + kMedianReach, samples.height - 1);
           ++ny) {
        for (int nx = std::max(x - kMedianReach, 0); nx <= std::min(x + kMedianReach, samples.width - 1);
             ++nx)
          around.push_back(samples.at(nx, ny));
      }
      out.at(x, y) = percentile(around, 0.5);
    }
  }
  return out;
}

// The largest difference of neighbours within an area, derived from the median difference, which strokes and edges
// hardly change.
float largest_step(const Plane& samples) {
  std::vector<float> steps;
  for (int y = 0; y < samples.height; ++y) {
    for (int x = 0; x + 1 < samples.width; ++x)
      steps.push_back(std::abs(samples.at(x + 1, y) - samples.at(x, y)));
  }
  return std::max(kMinStep, kOrdinarySteps * percentile(steps, 0.5));
}

// Labels areas of four neighbours that differ by at most `step`.
std::vector<Area> label_areas(const Plane& samples, float step, std::vector<int>& labels) {
  std::vector<Area> areas;
  labels.assign(samples.values.size(), -1);
  std::vector<std::pair<int, int>> open;
  for (int y0 = 0; y0 < samples.height; ++y0) {
    for (int x0 = 0; x0 < samples.width; ++x0) {
      if (labels[samples.index(x0, y0)] >= 0) continue;
      const int label = static_cast<int>(areas.size());
      Area area;
      area.box = {x0, y0, x0 + 1, y0 + 1};
      labels[samples.index(x0, y0)] = label;
      open.assign(1, {x0, y0});
      while (!open.empty()) {
        const auto [x, y] = open.back();
        open.pop_back();
        ++area.count;
        area.sum += samples.at(x, y);
        area.at_edge += x == 0 || y == 0 || x + 1 == samples.width || y + 1 == samples.height;
        area.box = {std::min(area.box.x0, x), std::min(area.box.y0, y), std::max(area.box.x1, x + 1),
                    std::max(area.box.y1, y + 1)};
        constexpr int kNext[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        for (const auto& next : kNext) {
          const int nx = x + next[0], ny = y + next[1];
          if (nx < 0 || ny < 0 || nx >= samples.width || ny >= samples.height) continue;
          if (labels[samples.index(nx, ny)] >= 0) continue;
          if (std::abs(samples.at(nx, ny) - samples.at(x, y)) > step) continue;
          labels[samples.index(nx, ny)] = label;
          open.emplace_back(nx, ny);
        }
      }
      areas.push_back(area);
    }
  }
  return areas;
}

void find_wide(const Plane& samples, const std::vector<int>& labels, std::vector<Area>& areas) {
  for (int y = 0; y + kLineSide <= samples.height; ++y) {
    for (int x = 0; x + kLineSide <= samples.width; ++x) {
      const int label = labels[samples.index(x, y)];
      bool same = true;
      for (int k = 0; k < kLineSide * kLineSide && same; ++k)
        same = labels[samples.index(x + k % kLineSide, y + k / kLineSide)] == label;
      areas[static_cast<size_t>(label)].wide = areas[static_cast<size_t>(label)].wide || same;
    }
  }
}

// The samples that no path leaves to the edge of the picture without crossing the area `label`.
std::vector<uint8_t> enclosed_by(int label, const Plane& samples, const std::vector<int>& labels) {
  const auto is_outside = [&](size_t i) { return labels[i] != label; };
  std::vector<uint8_t> enclosed = reached_from_edge(samples, is_outside);
  for (size_t i = 0; i < labels.size(); ++i) enclosed[i] = !enclosed[i] && is_outside(i);
  return enclosed;
}

// The share of the smallest rectangle around an area, at any angle, that the area fills together with the samples that
// it encloses. It is above 0.85 for a sheet of paper, also one seen obliquely, and pi / 4 for a disc.
double share_of_rectangle(int label, const Plane& samples, const std::vector<int>& labels,
                          const std::vector<uint8_t>& enclosed) {
  double count = 0, smallest = 0;
  for (size_t i = 0; i < labels.size(); ++i) count += labels[i] == label || enclosed[i];
  constexpr int kDirections = 18;  // every 5 degrees: at most 2.5 off, where a square still fills 0.92
  for (int k = 0; k < kDirections; ++k) {
    const double angle = k * kQuarterTurn / kDirections, c = std::cos(angle), s = std::sin(angle);
    double low_u = 1e9, high_u = -1e9, low_v = 1e9, high_v = -1e9;
    for (int y = 0; y < samples.height; ++y) {
      for (int x = 0; x < samples.width; ++x) {
        if (labels[samples.index(x, y)] != label) continue;
        const double u = c * x + s * y, v = c * y - s * x;
        low_u = std::min(low_u, u), high_u = std::max(high_u, u);
        low_v = std::min(low_v, v), high_v = std::max(high_v, v);
      }
    }
    const double area = (high_u - low_u + 1) * (high_v - low_v + 1);
    smallest = k == 0 ? area : std::min(smallest, area);
  }
  return count / smallest;
}

// Whether two levels differ more than those of paper in the light and in a shadow.
bool is_table(double one, double other) {
  const double low = std::min(one, other), high = std::max(one, other);
  return low < kMaxShadow * high && high - low > kMinTable;
}

PaperAreas areas_of(const Plane& samples) {
  PaperAreas found;
  found.kind.assign(samples.values.size(), PaperAreas::kMark);
  const auto all = static_cast<double>(samples.values.size());
  const float step = largest_step(samples);
  std::vector<int> labels;
  std::vector<Area> areas = label_areas(samples, step, labels);
  find_wide(samples, labels, areas);
  std::vector<int> large;
  for (size_t i = 0; i < areas.size(); ++i) {
    if (areas[i].count >= kLarge * all && areas[i].wide) large.push_back(static_cast<int>(i));
  }
  if (large.empty()) return found;
  const auto count = [&](int label) { return areas[static_cast<size_t>(label)].count; };
  std::stable_sort(large.begin(), large.end(), [&](int a, int b) { return count(a) > count(b); });
  // Paper fills a rectangle, or surrounds the marks; a very thick stroke does neither. The edge of a shadow cuts paper
  // into areas that surround the marks together.
  const double edge = 2 * (samples.width + samples.height) - 4;
  const auto is_paper = [&](int label) {
    const Area& area = areas[static_cast<size_t>(label)];
    int along_edge = 0;
    for (const int other : large) {
      const Area& part = areas[static_cast<size_t>(other)];
      if (part.along_edge() && !is_table(area.mean(), part.mean())) along_edge += part.at_edge;
    }
    return (area.along_edge() && along_edge >= kMaxEdge * edge) ||
           share_of_rectangle(label, samples, labels, enclosed_by(label, samples, labels)) >= kMinSheet;
  };
  const auto first = std::find_if(large.begin(), large.end(), is_paper);
  if (first == large.end()) return found;
  int main = *first;
  // A sheet that lies on the main area: of another level, enclosed by it, and with marks.
  for (const int sheet : large) {
    if (sheet == main || std::abs(areas[static_cast<size_t>(sheet)].mean() -
                                  areas[static_cast<size_t>(main)].mean()) < kOtherLevel * step)
      continue;
    const std::vector<uint8_t> inside = enclosed_by(main, samples, labels);
    size_t of_sheet = 0;
    for (size_t i = 0; i < labels.size(); ++i) of_sheet += inside[i] && labels[i] == sheet;
    if (of_sheet == 0) continue;
    const std::vector<uint8_t> marks = enclosed_by(sheet, samples, labels);
    if (std::count(marks.begin(), marks.end(), 1) < kMinMarks * count(sheet)) continue;
    if (share_of_rectangle(sheet, samples, labels, marks) < kMinSheet) continue;
    main = sheet;
    found.on_something = true;
    break;
  }
  if (count(main) < kMinMain * all && !found.on_something) return found;
  found.main_share = count(main) / all;
  const double level = areas[static_cast<size_t>(main)].mean();
  const std::vector<uint8_t> inside =
      found.on_something ? enclosed_by(main, samples, labels) : std::vector<uint8_t>(labels.size(), 1);
  for (size_t i = 0; i < labels.size(); ++i) {
    const Area& area = areas[static_cast<size_t>(labels[i])];
    if (labels[i] == main) {
      found.kind[i] = PaperAreas::kMain;
    } else if (!inside[i]) {
      found.kind[i] = PaperAreas::kBeside;
    } else if (area.along_edge() && area.wide && area.count >= kMinOther * all) {
      found.kind[i] = is_table(level, area.mean()) ? PaperAreas::kBeside : PaperAreas::kOther;
    }
  }
  return found;
}

}  // namespace

PaperAreas find_paper_areas(const Plane& samples) {
  PaperAreas found = areas_of(samples);
  if (found.main_share > kMaxCut || found.on_something) return found;
  PaperAreas whole = areas_of(without_lines(samples));
  return whole.main_share > kMuchLarger * found.main_share ? whole : found;
}

}  // namespace lenslet
