#include "models/digit/plane.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/integer_math.h"

namespace lenslet {
namespace {

constexpr double kMinShare = 1e-9;  // of a source pixel: less is rounding
constexpr double kBeyond = 1e20;    // larger than any squared distance within a picture
constexpr int kCoefficients = 6;    // of a quadratic surface
constexpr int kPixelsEach = 4;      // least samples per coefficient: with fewer, noise would bend the surface
constexpr double kCollinear = 1e-6;  // a pivot below this share of the samples' number: they lie on a line

// One output pixel's sources along one axis: weights for `count` pixels from `first`.
struct Span {
  int first = 0;
  std::vector<float> weights;
};

std::vector<Span> spans(int begin, int in, int out) {
  std::vector<Span> result(static_cast<size_t>(out));
  const double step = static_cast<double>(in) / out;
  for (int i = 0; i < out; ++i) {
    Span& span = result[static_cast<size_t>(i)];
    if (step >= 1) {  // area: the share of each source pixel within [i * step, (i + 1) * step)
      const double low = i * step, high = std::min((i + 1) * step, static_cast<double>(in));
      const int first = std::min(static_cast<int>(low), in - 1);
      span.first = begin + first;
      for (int k = first; k < in && k < high; ++k) {
        const double share = std::min(k + 1.0, high) - std::max(static_cast<double>(k), low);
        if (share > kMinShare) span.weights.push_back(static_cast<float>(share / step));
      }
    } else {  // linear between the centres of the two nearest source pixels
      const double centre = std::clamp((i + 0.5) * step - 0.5, 0.0, in - 1.0);
      const int first = std::min(static_cast<int>(centre), std::max(in - 2, 0));
      const auto share = static_cast<float>(centre - first);
      span.first = begin + first;
      span.weights = {1 - share};
      if (in > 1) span.weights.push_back(share);
    }
  }
  return result;
}

// Squared distances along one line: out[i] = min over k of (i - k)^2 + f[k].
void lower_envelope(const std::vector<float>& f, std::vector<float>& out, std::vector<int>& roots,
                    std::vector<double>& bounds) {
  const int n = static_cast<int>(f.size());
  const auto value = [&](int i) { return static_cast<double>(f[static_cast<size_t>(i)]); };
  int last = 0;
  roots[0] = 0;
  bounds[0] = -kBeyond;
  bounds[1] = kBeyond;
  for (int q = 1; q < n; ++q) {
    // The intersection of the parabola of q with that of the last root; roots that it covers are removed.
    double cross = 0;
    while (true) {
      const int r = roots[static_cast<size_t>(last)];
      cross = ((value(q) + static_cast<double>(q) * q) - (value(r) + static_cast<double>(r) * r)) /
              (2.0 * (q - r));
      if (cross > bounds[static_cast<size_t>(last)]) break;
      --last;  // ends at the first root, whose bound is below every intersection
    }
    ++last;
    roots[static_cast<size_t>(last)] = q;
    bounds[static_cast<size_t>(last)] = cross;
    bounds[static_cast<size_t>(last) + 1] = kBeyond;
  }
  for (int q = 0, k = 0; q < n; ++q) {
    while (bounds[static_cast<size_t>(k) + 1] < q) ++k;
    const int r = roots[static_cast<size_t>(k)];
    out[static_cast<size_t>(q)] = static_cast<float>(static_cast<double>(q - r) * (q - r) + value(r));
  }
}

}  // namespace

Box united(const Box& a, const Box& b) {
  if (a.width() == 0) return b;
  if (b.width() == 0) return a;
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

Plane resize(const Plane& in, const Box& box, int width, int height) {
  const std::vector<Span> columns = spans(box.x0, box.width(), width),
                          rows = spans(box.y0, box.height(), height);
  Plane narrow(width, box.height());
  for (int y = 0; y < box.height(); ++y) {
    for (int x = 0; x < width; ++x) {
      const Span& span = columns[static_cast<size_t>(x)];
      const float* source = &in.values[in.index(span.first, box.y0 + y)];
      float sum = 0;
      for (size_t k = 0; k < span.weights.size(); ++k) sum += span.weights[k] * source[k];
      narrow.at(x, y) = sum;
    }
  }
  Plane out(width, height);
  for (int y = 0; y < height; ++y) {
    const Span& span = rows[static_cast<size_t>(y)];
    for (size_t k = 0; k < span.weights.size(); ++k) {
      const float* source = &narrow.values[narrow.index(0, span.first - box.y0 + static_cast<int>(k))];
      for (int x = 0; x < width; ++x) out.at(x, y) += span.weights[k] * source[x];
    }
  }
  return out;
}

Plane distance_to(const Plane& in, float threshold) {
  // Beyond any squared distance, small enough for exact sums in fp32's 24 bits of the sizes used here.
  const auto far = static_cast<float>(static_cast<double>(in.width + in.height) * (in.width + in.height));
  Plane out(in.width, in.height);
  for (size_t i = 0; i < in.values.size(); ++i) out.values[i] = in.values[i] >= threshold ? 0 : far;
  const auto longest = static_cast<size_t>(std::max(in.width, in.height));
  std::vector<int> roots(longest + 1);
  std::vector<double> bounds(longest + 2);
  std::vector<float> line(static_cast<size_t>(in.height)), result(line.size());
  for (int x = 0; x < in.width; ++x) {
    for (int y = 0; y < in.height; ++y) line[static_cast<size_t>(y)] = out.at(x, y);
    lower_envelope(line, result, roots, bounds);
    for (int y = 0; y < in.height; ++y) out.at(x, y) = result[static_cast<size_t>(y)];
  }
  line.resize(static_cast<size_t>(in.width));
  result.resize(line.size());
  for (int y = 0; y < in.height; ++y) {
    std::copy_n(&out.values[out.index(0, y)], in.width, line.begin());
    lower_envelope(line, result, roots, bounds);
    for (int x = 0; x < in.width; ++x) out.at(x, y) = std::sqrt(result[static_cast<size_t>(x)]);
  }
  return out;
}

float percentile(std::vector<float>& values, double p) {
  if (values.empty()) return 0;
  const auto k = std::min(static_cast<size_t>(p * static_cast<double>(values.size())), values.size() - 1);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k), values.end());
  return values[k];
}

Plane sample(const Plane& in, int stride) {
  Plane out(static_cast<int>(ceil_div(in.width, stride)), static_cast<int>(ceil_div(in.height, stride)));
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) out.at(x, y) = in.at(x * stride, y * stride);
  }
  return out;
}

Quadratic::Quadratic(const Plane& samples, const std::vector<uint8_t>& weights, int stride, int width,
                     int height)
    : scale_x_(2.0 / std::max(width - 1, 1)), scale_y_(2.0 / std::max(height - 1, 1)) {
  double normal[kCoefficients][kCoefficients + 1] = {};  // symmetric; the last column is the right side
  double count = 0;
  for (int y = 0; y < samples.height; ++y) {
    const double v = y * stride * scale_y_ - 1;
    for (int x = 0; x < samples.width; ++x) {
      if (!weights[samples.index(x, y)]) continue;
      const double u = x * stride * scale_x_ - 1;
      const double row[kCoefficients + 1] = {1, u, v, u * u, u * v, v * v, samples.at(x, y)};
      for (int i = 0; i < kCoefficients; ++i) {
        for (int k = i; k <= kCoefficients; ++k) normal[i][k] += row[i] * row[k];
      }
      ++count;
    }
  }
  for (int i = 0; i < kCoefficients; ++i) {
    for (int k = 0; k < i; ++k) normal[i][k] = normal[k][i];
  }
  if (count == 0) return;
  c_[0] = normal[0][kCoefficients] / count;
  if (count < kPixelsEach * kCoefficients) return;  // keep the mean
  double solution[kCoefficients];
  for (int i = 0; i < kCoefficients; ++i) {
    int pivot = i;
    for (int k = i + 1; k < kCoefficients; ++k)
      pivot = std::abs(normal[k][i]) > std::abs(normal[pivot][i]) ? k : pivot;
    if (std::abs(normal[pivot][i]) < kCollinear * count) return;  // keep the mean
    std::swap(normal[i], normal[pivot]);
    for (int k = i + 1; k < kCoefficients; ++k) {
      const double factor = normal[k][i] / normal[i][i];
      for (int j = i; j <= kCoefficients; ++j) normal[k][j] -= factor * normal[i][j];
    }
  }
  for (int i = kCoefficients - 1; i >= 0; --i) {
    solution[i] = normal[i][kCoefficients];
    for (int k = i + 1; k < kCoefficients; ++k) solution[i] -= normal[i][k] * solution[k];
    solution[i] /= normal[i][i];
  }
  std::copy(solution, solution + kCoefficients, c_);
}

float Quadratic::at(int x, int y) const {
  const double u = x * scale_x_ - 1, v = y * scale_y_ - 1;
  const double value = c_[0] + (c_[1] + c_[3] * u) * u + (c_[2] + c_[4] * u + c_[5] * v) * v;
  return static_cast<float>(std::clamp(value, low_, high_));
}

void Quadratic::clamp_to(double low, double high) {
  low_ = low;
  high_ = high;
}

std::vector<Component> connected_components(const Plane& in, float threshold, std::vector<int32_t>& labels) {
  std::vector<Component> components;
  labels.assign(in.values.size(), 0);
  std::vector<std::pair<int, int>> open;
  for (int start_y = 0; start_y < in.height; ++start_y) {
    for (int start_x = 0; start_x < in.width; ++start_x) {
      const size_t start = in.index(start_x, start_y);
      if (labels[start] != 0 || !(in.values[start] > threshold)) continue;
      Component component;
      component.box = {start_x, start_y, start_x + 1, start_y + 1};
      const auto label = static_cast<int32_t>(components.size() + 1);
      labels[start] = label;
      open.assign(1, {start_x, start_y});
      while (!open.empty()) {
        const auto [x, y] = open.back();
        open.pop_back();
        const float value = in.at(x, y);
        component.mass += value;
        component.peak = std::max(component.peak, value);
        component.at_border =
            component.at_border || x == 0 || y == 0 || x == in.width - 1 || y == in.height - 1;
        component.box = {std::min(component.box.x0, x), std::min(component.box.y0, y),
                         std::max(component.box.x1, x + 1), std::max(component.box.y1, y + 1)};
        for (int ny = std::max(y - 1, 0); ny <= std::min(y + 1, in.height - 1); ++ny) {
          for (int nx = std::max(x - 1, 0); nx <= std::min(x + 1, in.width - 1); ++nx) {
            const size_t next = in.index(nx, ny);
            if (labels[next] != 0 || !(in.values[next] > threshold)) continue;
            labels[next] = label;
            open.emplace_back(nx, ny);
          }
        }
      }
      components.push_back(component);
    }
  }
  return components;
}

}  // namespace lenslet
