#include "apps/lenslet/candidates/layer_bound.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "layers/conv/conv_layer.h"
#include "layers/conv/conv_registry.h"
#include "layers/fusion/fusion.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/conv_judge.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

// What the accuracy of a convolution is relative to (ConvAccuracy), for each output.
std::vector<double> conv_magnitudes(const ConvAccuracy& accuracy, const Conv2dLayer& layer,
                                    const LayerInput& input, const reference::Result& result) {
  std::vector<double> magnitudes = result.magnitudes;
  if (!accuracy.by_image_maximum) return magnitudes;
  const Conv2dProblem problem = layer.problem_for(input.shape);
  const size_t images = static_cast<size_t>(problem.n), filters = static_cast<size_t>(problem.k);
  const size_t filter_size = static_cast<size_t>(layer.weights().shape().num_elements()) / filters;
  const size_t image_size = static_cast<size_t>(input.shape.num_elements()) / images,
               plane = magnitudes.size() / images / filters;
  const float* const weights = layer.weights().data();
  const auto larger = [](double sum, float value) { return std::max(sum, std::fabs(double{value})); };
  const auto sum = [](double total, float value) { return total + std::fabs(double{value}); };
  for (size_t n = 0; n < images; ++n) {
    const float* const image = input.values + n * image_size;
    const double largest = std::accumulate(image, image + image_size, 0.0, larger);
    for (size_t k = 0; k < filters; ++k) {
      const float* const filter = weights + k * filter_size;
      const double bias = layer.bias().data() ? std::fabs(double{layer.bias().data()[k]}) : 0;
      const double magnitude = largest * std::accumulate(filter, filter + filter_size, 0.0, sum) + bias;
      std::fill_n(magnitudes.begin() + static_cast<std::ptrdiff_t>((n * filters + k) * plane), plane,
                  magnitude);
    }
  }
  return magnitudes;
}

ConvAccuracy conv_accuracy(const Conv2dLayer& layer, const BackendEntry& entry, MathMode math,
                           const LayerInput& input) {
  return static_cast<const ConvBackendEntry&>(entry).open().accuracy(layer.problem_for(input.shape), math);
}

// A linear layer is a convolution of single pixels: the same sum, the same bound.
ConvAccuracy linear_accuracy(int64_t terms, MathMode math) {
  Conv2dProblem problem;
  problem.c = static_cast<int>(terms - 1);
  return accuracy_of_sums(problem, math);
}

// The error bound of each output of a convolution, as its backend derived it.
std::vector<double> conv_bounds(const Conv2dLayer& layer, const BackendEntry& entry, MathMode math,
                                const LayerInput& input, const reference::Result& result, int64_t terms) {
  const ConvAccuracy accuracy = conv_accuracy(layer, entry, math, input);
  std::vector<double> bounds = conv_magnitudes(accuracy, layer, input, result);
  for (double& bound : bounds) bound *= accuracy.factor(terms);
  return bounds;
}

MathMode math_of(const Layer& layer, MathMode math) { return layer.uses_math() ? math : MathMode::kFp32; }

// Squares the values relative to the largest, so that none underflows, and returns that one.
double square_relatively(std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  for (float& value : values) {
    value = largest > 0 ? value / largest : 0;
    value *= value;
  }
  return double{largest};
}

// Root of the sum of squares of weight * value of each output, for layers that sum values with weights; else empty.
std::vector<double> root_sums_of_squares(const Layer& layer, const Shape& shape, std::vector<float> values) {
  std::vector<double> sums;
  double scale = 1;
  const auto squares_of = [&scale](const Tensor& tensor) {
    std::vector<float> weights(tensor.data(), tensor.data() + tensor.shape().num_elements());
    scale *= square_relatively(weights);
    return weights;
  };
  if (const auto* conv = dynamic_cast<const Conv2dLayer*>(&layer)) {
    scale *= square_relatively(values);
    const std::vector<float> weights = squares_of(conv->weights());
    sums = reference::conv2d(conv->problem_for(shape), values.data(), weights.data(), nullptr, false).values;
  } else if (const auto* linear = dynamic_cast<const LinearLayer*>(&layer)) {
    scale *= square_relatively(values);
    const std::vector<float> weights = squares_of(linear->weights());
    sums = reference::linear(linear->as_vectors(shape), values.data(), linear->weights().shape()[0],
                             weights.data(), nullptr)
               .values;
  } else if (const auto* pool = dynamic_cast<const AvgPool2dLayer*>(&layer)) {
    const Pool2dWindow& w = pool->window();
    // Windows at a border have fewer cells.
    if (w.pad_h + w.pad_w + w.more_pad_h + w.more_pad_w > 0 || w.ceil) return {};
    scale = square_relatively(values) / std::sqrt(double{1} * w.r * w.s);
    sums = reference::avg_pool2d(shape, values.data(), reference_window(w), pool->counts_padding()).values;
  }
  for (double& sum : sums) sum = scale * std::sqrt(sum);
  return sums;
}

std::vector<float> magnitudes_of(const Tensor& tensor) {
  std::vector<float> values(tensor.data(), tensor.data() + tensor.shape().num_elements());
  for (float& value : values) value = std::fabs(value);
  return values;
}

// Moves input i up or down by its errors, as bit i of `signs` states, and adds what the outputs change by.
void add_changes(const Layer& layer, const std::vector<LayerInput>& inputs,
                 const std::vector<std::vector<float>>& errors, const reference::Result& result,
                 unsigned signs, std::vector<double>& changes) {
  std::vector<std::vector<float>> moved;
  std::vector<LayerInput> there;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float sign = (signs >> std::min<size_t>(i, 31) & 1) != 0 ? 1.0f : -1.0f;
    std::vector<float>& x = moved.emplace_back(errors[i]);
    for (size_t k = 0; k < x.size(); ++k) x[k] = inputs[i].values[k] + sign * x[k];
  }
  for (size_t i = 0; i < inputs.size(); ++i) there.push_back({inputs[i].shape, moved[i].data()});
  int64_t terms = 0;
  const reference::Result changed = reference_layer(layer, there, terms);
  for (size_t k = 0; k < changes.size(); ++k) {
    const double change = std::fabs(changed.values[k] - result.values[k]);
    changes[k] = std::isnan(change) ? INFINITY : std::max(changes[k], change);
  }
}

}  // namespace

std::vector<double> sum_bounds(const reference::Result& result, int64_t terms, MathMode math) {
  std::vector<double> bounds(result.values.size(), 0);
  if (terms == 0) return bounds;
  const double factor = linear_accuracy(terms, math).factor(terms);
  for (size_t i = 0; i < bounds.size(); ++i)
    bounds[i] = factor * result.magnitudes[i] + FLT_MIN;  // below it a result may be 0
  return bounds;
}

std::vector<double> layer_bounds(const Layer& layer, const BackendEntry& entry, MathMode math,
                                 const std::vector<LayerInput>& inputs, const reference::Result& result,
                                 int64_t terms) {
  if (const auto* conv = dynamic_cast<const Conv2dLayer*>(&layer))
    return conv_bounds(*conv, entry, math, inputs.at(0), result, terms);
  return sum_bounds(result, terms, math_of(layer, math));
}

void apply_fused(const Layer& layer, reference::Result& result, std::vector<double>& bounds) {
  const Fusion fusion = read_fusion({&layer});
  if (!fusion.max_pool) {
    const Rectifier after = fusion.rectifier;
    const bool exact = after.slope == 0 || after.slope == 1;
    for (size_t i = 0; i < bounds.size(); ++i) {
      double& value = result.values[i];
      value = reference::rectified(value, after.slope, after.ceiling);
      if (!exact) bounds[i] += kUnitFp32 * std::fabs(value);
    }
    return;
  }
  const reference::PoolWindow window = reference_window(dynamic_cast<const MaxPool2dLayer&>(layer).window());
  const std::vector<float> values(result.values.begin(), result.values.end());
  const std::vector<float> limits(bounds.begin(), bounds.end());
  bounds = reference::max_pool2d(result.shape, limits.data(), window).values;
  result = reference::max_pool2d(result.shape, values.data(), window);
  for (size_t i = 0; i < bounds.size(); ++i)
    bounds[i] += kUnitFp32 * (std::fabs(result.values[i]) + bounds[i]);
}

std::vector<double> carried_errors(const Layer& layer, const std::vector<LayerInput>& inputs,
                                   const std::vector<std::vector<float>>& errors,
                                   const reference::Result& result) {
  std::vector<double> carried(result.values.size(), 0);
  const bool exact = std::all_of(errors.begin(), errors.end(), [](const std::vector<float>& of_input) {
    return std::all_of(of_input.begin(), of_input.end(), [](float error) { return error == 0; });
  });
  if (exact) return carried;
  const Shape& shape = inputs.at(0).shape;
  if (const auto* conv = dynamic_cast<const Conv2dLayer*>(&layer)) {
    const std::vector<float> weights = magnitudes_of(conv->weights());
    return reference::conv2d(conv->problem_for(shape), errors[0].data(), weights.data(), nullptr, false)
        .values;
  }
  if (const auto* linear = dynamic_cast<const LinearLayer*>(&layer)) {
    const std::vector<float> weights = magnitudes_of(linear->weights());
    return reference::linear(linear->as_vectors(shape), errors[0].data(), linear->weights().shape()[0],
                             weights.data(), nullptr)
        .values;
  }
  if (dynamic_cast<const SoftmaxLayer*>(&layer)) {
    // Every exponential and their sum change by the factor exp(largest) at most; a logarithm by twice that.
    const double largest = *std::max_element(errors[0].begin(), errors[0].end());
    for (size_t k = 0; k < carried.size(); ++k)
      carried[k] =
          std::max(result.values[k] * std::expm1(2 * largest), result.values[k] < 0 ? 2 * largest : 0);
    return carried;
  }
  constexpr size_t kMaxCombined = 3;  // of more inputs all move up, or all down: sums and maxima
  if (inputs.size() <= kMaxCombined) {
    for (unsigned signs = 0; signs < 1u << inputs.size(); ++signs)
      add_changes(layer, inputs, errors, result, signs, carried);
  } else {
    add_changes(layer, inputs, errors, result, 0, carried);
    add_changes(layer, inputs, errors, result, ~0u, carried);
  }
  return carried;
}

std::vector<double> layer_deviations(const Layer& layer, const BackendEntry& entry, MathMode given,
                                     const std::vector<LayerInput>& inputs,
                                     const std::vector<std::vector<float>>& carried,
                                     const reference::Result& result, int64_t terms) {
  const MathMode math = math_of(layer, given);
  const auto* const conv = dynamic_cast<const Conv2dLayer*>(&layer);
  ConvAccuracy accuracy;
  std::vector<double> squares = result.magnitudes;
  if (conv) {
    accuracy = conv_accuracy(*conv, entry, math, inputs.at(0));
    squares = conv_magnitudes(accuracy, *conv, inputs[0], result);
  } else if (terms > 0) {
    accuracy = linear_accuracy(terms, math);
  }
  const double own = terms > 0 ? accuracy.sum_deviation(terms) : 0;
  for (size_t k = 0; k < squares.size(); ++k) {
    // The next layer of the judge reads a result that is rounded to fp32.
    squares[k] = std::pow(own * squares[k], 2) + std::pow(kUnitFp32 * result.values[k], 2);
  }
  const auto add = [&squares](const std::vector<double>& deviations) {
    for (size_t k = 0; k < squares.size(); ++k) squares[k] += deviations[k] * deviations[k];
  };
  std::vector<float> errors = carried[0];
  for (size_t k = 0; k < errors.size(); ++k)  // of the operands, before they are multiplied
    errors[k] = static_cast<float>(std::hypot(errors[k], accuracy.product_error * inputs[0].values[k]));
  const std::vector<double> of_products = root_sums_of_squares(layer, inputs[0].shape, errors);
  if (!of_products.empty()) {
    add(of_products);
  } else {
    // One input after another: their errors are independent.
    std::vector<std::vector<float>> alone;
    alone.reserve(carried.size());
    for (const std::vector<float>& each : carried) alone.emplace_back(each.size(), 0.0f);
    for (size_t i = 0; i < carried.size(); ++i) {
      alone[i] = carried[i];
      std::vector<double> changes = carried_errors(layer, inputs, alone, result);
      // Where the function has no number beside x, such as 1 / x at 0: an infinite bound would accept everything.
      for (double& change : changes) change = std::isfinite(change) ? change : 0;
      add(changes);
      std::fill(alone[i].begin(), alone[i].end(), 0.0f);
    }
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

double mean_loss(const Layer& layer, MathMode given, int64_t terms) {
  const MathMode math = math_of(layer, given);
  if (math == MathMode::kFp32) return 0;
  // Cut after the tenth bit: uniform in [0, 2^-10) of a power of two, below a mantissa that is log-uniform in [1, 2).
  const double of_operand = math == MathMode::kTf32 ? kUnitCutTf32 / 2 / (2 * std::log(2.0)) : 0;
  return 2 * of_operand + kUnitFp32 * static_cast<double>(terms);
}

}  // namespace lenslet
