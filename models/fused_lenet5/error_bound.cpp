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

}  // namespace

double lenet5_logit_bound(const Lenet5Parameters& parameters, const std::array<LayerRounding, 5>& rounding) {
  const Layers layers = layers_of(parameters);
  const double mean = parameters.normalisation.mean(), deviation = parameters.normalisation.std();
  double largest = 0;
  for (const std::vector<double>& pixels : probes()) {
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
    }
    largest = std::max(largest, *std::max_element(at.variance.begin(), at.variance.end()));
  }
  return kLogitDeviations * std::sqrt(largest);
}

}  // namespace lenslet
