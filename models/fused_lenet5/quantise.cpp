#include "models/fused_lenet5/quantise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "framework/base/error.h"
#include "models/fused_lenet5/fold.h"

namespace lenslet {
namespace {

constexpr int kTaps = 5 * 5, kMaxWeight = 127;
constexpr double kByte = 255, kMaxSum = 1 << 22;

/// A filter in units of its own.
struct Filter {
  double unit = 1;
  std::vector<int> weight;
  int32_t bias = 0;
};

int rounded(double value) { return static_cast<int>(std::nearbyint(value)); }
int rounded_weight(double value) { return std::clamp(rounded(value), -kMaxWeight, kMaxWeight); }

/// The unit with the smallest squared error, from 0.7 to 1 times the one that reaches the largest weight; no smaller
/// than one in which every sum is below 2^22.
double choose_unit(const std::vector<double>& weight, double bias) {
  double largest = 0, sum = std::abs(bias);
  for (const double w : weight) largest = std::max(largest, std::abs(w)), sum += kByte * std::abs(w);
  constexpr int kCandidates = 61;
  double best = largest / kMaxWeight, smallest_error = INFINITY;
  for (int i = 0; i < kCandidates && largest > 0; ++i) {
    const double unit = largest / kMaxWeight * (0.7 + 0.3 * i / (kCandidates - 1));
    double error = 0;
    for (const double w : weight) {
      const double off = rounded_weight(w / unit) * unit - w;
      error += off * off;
    }
    if (error < smallest_error) smallest_error = error, best = unit;
  }
  constexpr double kRoundings = 1 << 17;  // a weight is rounded by less than one unit: 150 times 255 at most
  const double unit = std::max(best, sum / (kMaxSum - kRoundings));
  return unit > 0 ? unit : 1;
}

/// Moves weights of `candidates` by one, each at most once and the largest roundings first, until `off`, the sum of the
/// roundings, is at most a half. Weights at the limit stay.
void move_nearest(std::vector<size_t> candidates, const std::vector<double>& exact, std::vector<int>& weight,
                  double off) {
  const int step = off > 0 ? -1 : 1;
  const auto rounding = [&](size_t i) { return -step * (weight[i] - exact[i]); };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](size_t a, size_t b) { return rounding(a) > rounding(b); });
  int moves = std::abs(rounded(off));
  for (const size_t i : candidates) {
    if (moves == 0) return;
    if (std::abs(weight[i] + step) > kMaxWeight) continue;
    weight[i] += step, --moves;
  }
}

Filter quantise(const std::vector<double>& weight, double bias) {
  Filter filter;
  filter.unit = choose_unit(weight, bias);
  std::vector<double> exact;
  for (const double w : weight) {
    exact.push_back(w / filter.unit);
    filter.weight.push_back(rounded_weight(exact.back()));
  }
  filter.bias = rounded(bias / filter.unit);
  const auto off = [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += filter.weight[i] - exact[i];
    return sum;
  };
  for (size_t begin = 0; begin < weight.size(); begin += kTaps) {
    std::vector<size_t> part(kTaps);
    std::iota(part.begin(), part.end(), begin);
    move_nearest(part, exact, filter.weight, off(begin, begin + kTaps));
  }
  const double rest = off(0, weight.size());
  std::vector<size_t> one_of_each;  // the weight of each 5 x 5 part that was moved farthest
  for (size_t begin = 0; begin < weight.size(); begin += kTaps) {
    size_t farthest = begin;
    const auto rounding = [&](size_t i) { return (filter.weight[i] - exact[i]) * (rest > 0 ? 1 : -1); };
    for (size_t i = begin; i < begin + kTaps; ++i) {
      if (rounding(i) > rounding(farthest)) farthest = i;
    }
    one_of_each.push_back(farthest);
  }
  move_nearest(one_of_each, exact, filter.weight, rest);
  return filter;
}

/// Rounded to 22 bits.
float in_22_bits(double value) {
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, 22)), exponent - 22));
}

}  // namespace

QuantisedConvolutions quantise_convolutions(const Lenet5Parameters& parameters) {
  const FoldedConv1 conv1 = fold_normalisation(parameters);
  const float *weights = parameters.conv2_weight.data(), *biases = parameters.conv2_bias.data();
  const auto finite = [](const auto* first, size_t count) {
    return std::all_of(first, first + count, [](auto value) { return std::isfinite(value); });
  };
  if (!finite(conv1.weight.data(), conv1.weight.size()) || !finite(conv1.bias.data(), conv1.bias.size()) ||
      !finite(weights, 2400) || !finite(biases, 16)) {
    throw DataError(
        "a convolution has a weight or bias that is not finite: int8 has no such number; choose math fp16");
  }
  QuantisedConvolutions quantised{};
  for (size_t c = 0; c < 6; ++c) {
    const auto* first = conv1.weight.data() + c * kTaps;
    const Filter filter = quantise({first, first + kTaps}, conv1.bias[c]);
    int64_t largest = filter.bias;
    for (const int w : filter.weight) largest += std::max(w, 0) * 255;
    // A channel that no image makes positive is zero, whatever the scale.
    const double steps = largest > 0 ? std::floor(kByte / static_cast<double>(largest) * kMaxSum) : 1;
    const double scale = std::clamp(steps, 1.0, kMaxSum) / kMaxSum;
    quantised.conv1_unit[c] = filter.unit;
    quantised.h1_unit[c] = largest > 0 ? filter.unit / scale : 0;
    quantised.conv1_scale[c] = static_cast<float>(scale);
    quantised.conv1_bias[c] = filter.bias;
    std::copy(filter.weight.begin(), filter.weight.end(),
              quantised.conv1_weight.begin() + static_cast<int>(c) * kTaps);
  }
  for (size_t f = 0; f < 16; ++f) {
    std::vector<double> scaled(6 * kTaps);
    for (size_t i = 0; i < scaled.size(); ++i)
      scaled[i] = weights[f * 150 + i] * quantised.h1_unit[i / kTaps];
    const Filter filter = quantise(scaled, biases[f]);
    quantised.conv2_unit[f] = filter.unit;
    quantised.conv2_scale[f] = in_22_bits(filter.unit);
    quantised.conv2_bias[f] = filter.bias;
    std::copy(filter.weight.begin(), filter.weight.end(),
              quantised.conv2_weight.begin() + static_cast<int>(f) * 150);
  }
  return quantised;
}

Lenet5Parameters with_quantised_values(const Lenet5Parameters& parameters,
                                       const QuantisedConvolutions& convolutions) {
  const auto copy = [](const Tensor& tensor) {
    Tensor copied(tensor.shape());
    std::copy(tensor.data(), tensor.data() + tensor.shape().num_elements(), copied.data());
    return copied;
  };
  Lenet5Parameters values{
      copy(parameters.conv1_weight), copy(parameters.conv1_bias), copy(parameters.conv2_weight),
      copy(parameters.conv2_bias),   copy(parameters.fc1_weight), copy(parameters.fc1_bias),
      copy(parameters.fc2_weight),   copy(parameters.fc2_bias),   copy(parameters.fc3_weight),
      copy(parameters.fc3_bias),     parameters.normalisation};
  const double mean = parameters.normalisation.mean(), deviation = parameters.normalisation.std();
  for (size_t c = 0; c < 6; ++c) {  // the inverse of fold_normalisation()
    const double unit = convolutions.conv1_unit[c];
    double sum = 0;
    for (size_t i = c * kTaps; i < (c + 1) * kTaps; ++i) {
      const double weight = convolutions.conv1_weight[i] * unit * kByte * deviation;
      values.conv1_weight.data()[i] = static_cast<float>(weight);
      sum += weight;
    }
    values.conv1_bias.data()[c] =
        static_cast<float>(convolutions.conv1_bias[c] * unit + mean / deviation * sum);
  }
  for (size_t f = 0; f < 16; ++f) {
    const double unit = convolutions.conv2_unit[f];
    for (size_t i = 0; i < 6 * kTaps; ++i) {
      const double of_h1 = convolutions.h1_unit[i / kTaps];
      values.conv2_weight.data()[f * 150 + i] =
          of_h1 > 0 ? static_cast<float>(convolutions.conv2_weight[f * 150 + i] * unit / of_h1) : 0;
    }
    values.conv2_bias.data()[f] = static_cast<float>(convolutions.conv2_bias[f] * unit);
  }
  return values;
}

}  // namespace lenslet
