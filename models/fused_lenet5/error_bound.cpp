#include "models/fused_lenet5/error_bound.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr double kDeviations = 8;

// Every layer is a convolution without padding: a fully connected one has a kernel as large as its input.
struct LayerView {
  int channels, side, filters, kernel;  // x [channels, side, side], w [filters, channels, kernel, kernel]
  bool pool, relu;
  const float* weight;
  const float* bias;

  int outputs_side() const { return side - kernel + 1; }
  int taps() const { return kernel * kernel; }
};

using Layers = std::array<LayerView, 5>;

Layers layers_of(const Lenet5Parameters& p) {
  return {{{1, 28, 6, 5, true, true, p.conv1_weight.data(), p.conv1_bias.data()},
           {6, 12, 16, 5, true, true, p.conv2_weight.data(), p.conv2_bias.data()},
           {16, 4, 120, 4, false, true, p.fc1_weight.data(), p.fc1_bias.data()},
           {120, 1, 84, 1, false, true, p.fc2_weight.data(), p.fc2_bias.data()},
           {84, 1, 10, 1, false, false, p.fc3_weight.data(), p.fc3_bias.data()}}};
}

std::vector<double> correlate(const LayerView& layer, const std::vector<double>& x) {
  const int out = layer.outputs_side();
  std::vector<double> z(static_cast<size_t>(layer.filters * out * out));
  for (int k = 0; k < layer.filters; ++k) {
    for (int at = 0; at < out * out; ++at) {
      double sum = layer.bias[k];
      for (int c = 0; c < layer.channels; ++c) {
        for (int tap = 0; tap < layer.taps(); ++tap) {
          const int row = at / out + tap / layer.kernel, column = at % out + tap % layer.kernel;
          sum += layer.weight[(k * layer.channels + c) * layer.taps() + tap] *
                 x[static_cast<size_t>((c * layer.side + row) * layer.side + column)];
        }
      }
      z[static_cast<size_t>(k * out * out + at)] = layer.relu ? std::max(sum, 0.0) : sum;
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
  std::vector<std::vector<double>> images = {std::vector<double>(784, 0.0), std::vector<double>(784, 255.0)};
  std::mt19937 random(20);
  for (const int cell : {1, 1, 1, 2, 2, 2, 4, 4, 4, 4}) {
    std::array<bool, 784> ink{};
    for (bool& one : ink) one = (random() & 1) != 0;
    std::vector<double> image(784);
    for (int i = 0; i < 784; ++i)
      image[static_cast<size_t>(i)] =
          ink[static_cast<size_t>(i / 28 / cell * 28 + i % 28 / cell)] ? 255.0 : 0.0;
    images.push_back(image);
  }
  return images;
}

// The largest |x| of every channel that each layer reads.
std::array<std::vector<double>, 5> magnitudes(const Layers& layers) {
  std::array<std::vector<double>, 5> largest;
  for (size_t l = 0; l < layers.size(); ++l) largest[l].assign(static_cast<size_t>(layers[l].channels), 0.0);
  for (std::vector<double>& x : probes()) {
    for (double& pixel : x) pixel = (pixel / 255 - double{kMnistMean}) / double{kMnistStd};
    for (size_t l = 0; l < layers.size(); ++l) {
      const size_t area = static_cast<size_t>(layers[l].side * layers[l].side);
      for (size_t i = 0; i < x.size(); ++i)
        largest[l][i / area] = std::max(largest[l][i / area], std::abs(x[i]));
      x = correlate(layers[l], x);
      if (layers[l].pool) x = pool(x, layers[l].filters, layers[l].outputs_side());
    }
  }
  // With the normalisation folded into the weights the largest product is larger by the mean.
  largest[0][0] = 1 / double{kMnistStd};
  return largest;
}

double square(double x) { return x * x; }

}  // namespace

double lenet5_logit_bound(const Lenet5Parameters& parameters, const std::array<LayerRounding, 5>& rounding) {
  const Layers layers = layers_of(parameters);
  const std::array<std::vector<double>, 5> magnitude = magnitudes(layers);
  // Squared errors of each channel. A normalised pixel has been rounded three times.
  std::vector<double> error = {3 * square(kUnitFp32 / double{kMnistStd})};
  for (size_t l = 0; l < layers.size(); ++l) {
    const LayerView& layer = layers[l];
    const double operands = square(rounding[l].weight) + square(rounding[l].input);
    const double sums = layer.channels * layer.taps() * square(rounding[l].sum);
    std::vector<double> next(static_cast<size_t>(layer.filters));
    for (int k = 0; k < layer.filters; ++k) {
      double variance = sums * square(layer.bias[k]);
      for (int c = 0; c < layer.channels; ++c) {
        double weights = 0;
        for (int tap = 0; tap < layer.taps(); ++tap)
          weights += square(layer.weight[(k * layer.channels + c) * layer.taps() + tap]);
        const size_t channel = static_cast<size_t>(c);
        variance += weights * (error[channel] + square(magnitude[l][channel]) * (operands + sums));
      }
      next[static_cast<size_t>(k)] = variance;
    }
    error = next;
  }
  return kDeviations * std::sqrt(*std::max_element(error.begin(), error.end()));
}

}  // namespace lenslet
