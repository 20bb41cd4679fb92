#include "models/fused_lenet5/error_bound.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/lenet5_sizes.h"
#include "models/logit_deviations.h"

namespace lenslet {
namespace {

// Every layer is a convolution without padding: a fully connected one has filters as large as its input.
struct LayerView {
  int channels, side, filters, r;  // x [channels, side, side], w [filters, channels, r, r]
  bool pool, relu;
  const float* weight;
  const float* bias;

  int outputs_side() const { return side - r + 1; }
  int taps() const { return r * r; }
};

using Layers = std::array<LayerView, 5>;

Layers layers_of(const Lenet5Parameters& p) {
  return {{{1, 28, 6, 5, true, true, p.conv1_weight.data(), p.conv1_bias.data()},
           {6, 12, 16, 5, true, true, p.conv2_weight.data(), p.conv2_bias.data()},
           {16, 4, 120, 4, false, true, p.fc1_weight.data(), p.fc1_bias.data()},
           {120, 1, 84, 1, false, true, p.fc2_weight.data(), p.fc2_bias.data()},
           {84, 1, 10, 1, false, false, p.fc3_weight.data(), p.fc3_bias.data()}}};
}

double square(double x) { return x * x; }

/// What a layer reads or writes of one picture: values, and the variance of each one's error.
struct Values {
  std::vector<double> x, variance;
};

// The values that products use for x. In the first layer they may lack the mean, if the normalisation is folded into
// the weights.
double largest_factor(double x, double mean) { return std::max(std::abs(x), std::abs(x + mean)); }

Values apply(const LayerView& layer, const LayerRounding& rounding, double mean, const Values& in) {
  const double operands = square(rounding.weight) + square(rounding.input);
  const double sums = layer.channels * layer.taps() * square(rounding.sum);
  std::vector<double> terms(in.x.size());  // factors of the squared weights
  for (size_t j = 0; j < terms.size(); ++j)
    terms[j] = in.variance[j] + square(largest_factor(in.x[j], mean)) * (operands + sums);
  const int out = layer.outputs_side();
  Values z;
  for (int k = 0; k < layer.filters; ++k) {
    for (int at = 0; at < out * out; ++at) {
      double sum = layer.bias[k], variance = sums * square(layer.bias[k]);
      for (int c = 0; c < layer.channels; ++c) {
        for (int tap = 0; tap < layer.taps(); ++tap) {
          const int row = at / out + tap / layer.r, column = at % out + tap % layer.r;
          const auto j = static_cast<size_t>((c * layer.side + row) * layer.side + column);
          const double w = layer.weight[(k * layer.channels + c) * layer.taps() + tap];
          sum += w * in.x[j];
          variance += square(w) * terms[j];
        }
      }
      z.x.push_back(layer.relu ? std::max(sum, 0.0) : sum);
      z.variance.push_back(variance);
    }
  }
  return z;
}

std::vector<double> pool(const std::vector<double>& z, int maps, int side) {
  const int half = side / 2;
  std::vector<double> pooled(static_cast<size_t>(maps * half * half));
  for (size_t i = 0; i < pooled.size(); ++i) {
    const int map = static_cast<int>(i) / (half * half), at = static_cast<int>(i) % (half * half);
    const size_t corner = static_cast<size_t>((map * side + at / half * 2) * side + at % half * 2);
    const size_t below = corner + static_cast<size_t>(side);
    pooled[i] = std::max(std::max(z[corner], z[corner + 1]), std::max(z[below], z[below + 1]));
  }
  return pooled;
}

// Pixels 0..255: blank, full, then patterns of black and white cells.
std::vector<std::vector<double>> probes() {
  std::vector<std::vector<double>> images = {std::vector<double>(kLenet5Pixels, 0.0),
                                             std::vector<double>(kLenet5Pixels, 255.0)};
  std::mt19937 random(20);
  for (const int cell : {1, 1, 1, 2, 2, 2, 4, 4, 4, 4}) {
    std::array<bool, kLenet5Pixels> ink{};
    for (bool& one : ink) one = (random() & 1) != 0;
    std::vector<double> image(kLenet5Pixels);
    for (int i = 0; i < kLenet5Pixels; ++i) {
      const int row = i / kLenet5Side / cell, column = i % kLenet5Side / cell;
      image[static_cast<size_t>(i)] = ink[static_cast<size_t>(row * kLenet5Side + column)] ? 255.0 : 0.0;
    }
    images.push_back(image);
  }
  return images;
}

// Digits of seven segments, 20 pixels high, in two widths of the pen and two places each.
std::vector<std::vector<double>> segment_digits() {
  // Segments of each digit, a bit each: top, upper left, upper right, middle, lower left, lower right, bottom.
  constexpr int kSegments[] = {0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f, 0x6f};
  struct Box {
    int row, column, height, width;
  };
  std::vector<std::vector<double>> images;
  for (const int segments : kSegments) {
    for (const int pen : {2, 3}) {
      for (const int left : {7, 9}) {
        const int down = (20 - pen) / 2, across = 12 - pen;
        const Box boxes[] = {{0, 0, pen, 12},       {0, 0, 10, pen},  {0, across, 10, pen},
                             {down, 0, pen, 12},    {10, 0, 10, pen}, {10, across, 10, pen},
                             {20 - pen, 0, pen, 12}};
        std::vector<double> image(kLenet5Pixels);
        for (int i = 0; i < 7; ++i) {
          const Box& box = boxes[i];
          for (int at = 0; (segments >> i & 1) != 0 && at < box.height * box.width; ++at) {
            const int row = 4 + box.row + at / box.width, column = left + box.column + at % box.width;
            image[static_cast<size_t>(row * kLenet5Side + column)] = 255;
          }
        }
        images.push_back(image);
      }
    }
  }
  return images;
}

/// The logits of a picture. h1 is rounded to steps of `h1_unit` [6], unless it is null.
Values logits_of(const Lenet5Parameters& parameters, const std::array<LayerRounding, 5>& rounding,
                 const std::vector<double>& pixels, const std::array<double, 6>* h1_unit = nullptr) {
  const Layers layers = layers_of(parameters);
  const double mean = parameters.normalisation.mean(), deviation = parameters.normalisation.std();
  Values at;
  for (const double pixel : pixels) {
    at.x.push_back((pixel / 255 - mean) / deviation);
    at.variance.push_back(3 * square(kUnitFp32 / deviation));  // normalised with three roundings
  }
  for (size_t l = 0; l < layers.size(); ++l) {
    const LayerView& layer = layers[l];
    at = apply(layer, rounding[l], l == 0 ? mean / deviation : 0, at);
    if (!layer.pool) continue;
    at.x = pool(at.x, layer.filters, layer.outputs_side());
    at.variance = pool(at.variance, layer.filters, layer.outputs_side());
    for (size_t i = 0; l == 0 && h1_unit && i < at.x.size(); ++i) {
      const double unit = (*h1_unit)[i * h1_unit->size() / at.x.size()];
      at.x[i] = unit > 0 ? std::nearbyint(at.x[i] / unit) * unit : 0;
    }
  }
  return at;
}

}  // namespace

double lenet5_logit_bound(const Lenet5Parameters& parameters, const std::array<LayerRounding, 5>& rounding) {
  double largest = 0;
  for (const std::vector<double>& pixels : probes()) {
    const Values at = logits_of(parameters, rounding, pixels);
    largest = std::max(largest, *std::max_element(at.variance.begin(), at.variance.end()));
  }
  return kLogitDeviations * std::sqrt(largest);
}

double quantised_lenet5_logit_bound(const Lenet5Parameters& parameters, const Lenet5Parameters& rounded,
                                    const std::array<double, 6>& h1_unit,
                                    const std::array<LayerRounding, 5>& layers) {
  double worst = 0;
  for (const std::vector<std::vector<double>>& pictures : {probes(), segment_digits()}) {
    std::vector<double> squares(kLenet5Classes, 0.0);
    for (const std::vector<double>& pixels : pictures) {
      const Values exact = logits_of(parameters, layers, pixels);
      const Values changed = logits_of(rounded, layers, pixels, &h1_unit);
      for (size_t k = 0; k < squares.size(); ++k) squares[k] += square(changed.x[k] - exact.x[k]);
    }
    worst = std::max(
        worst, *std::max_element(squares.begin(), squares.end()) / static_cast<double>(pictures.size()));
  }
  return kLogitDeviations * std::sqrt(worst) + lenet5_logit_bound(parameters, layers);
}

}  // namespace lenslet
