#include "apps/lenslet/candidates/layer_bound.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "layers/conv/conv_layer.h"
#include "layers/conv/conv_registry.h"
#include "layers/linear/linear_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

// The error bound of each output of a convolution, as its backend derived it.
std::vector<double> conv_bounds(const Conv2dLayer& layer, const BackendEntry& entry, MathMode math,
                                const LayerInput& input, const reference::Result& result, int64_t terms) {
  const Conv2dProblem problem = layer.problem_for(input.shape);
  const ConvBackend& backend = static_cast<const ConvBackendEntry&>(entry).open();
  const ConvAccuracy accuracy = backend.accuracy(problem, math);
  const double factor = accuracy.factor(terms);
  std::vector<double> bounds = result.magnitudes;
  if (accuracy.by_image_maximum) {
    const size_t images = static_cast<size_t>(problem.n), filters = static_cast<size_t>(problem.k);
    const size_t filter_size = static_cast<size_t>(layer.weights().shape().num_elements()) / filters;
    const size_t image_size = static_cast<size_t>(input.shape.num_elements()) / images,
                 plane = bounds.size() / images / filters;
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
        std::fill_n(bounds.begin() + static_cast<std::ptrdiff_t>((n * filters + k) * plane), plane,
                    magnitude);
      }
    }
  }
  for (double& bound : bounds) bound *= factor;
  return bounds;
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

std::vector<double> layer_bounds(const Layer& layer, const BackendEntry& entry, MathMode math,
                                 const std::vector<LayerInput>& inputs, const reference::Result& result,
                                 int64_t terms) {
  if (const auto* conv = dynamic_cast<const Conv2dLayer*>(&layer))
    return conv_bounds(*conv, entry, math, inputs.at(0), result, terms);
  return sum_bounds(result, terms, math);
}

std::vector<double> sum_bounds(const reference::Result& result, int64_t terms, MathMode math) {
  std::vector<double> bounds(result.values.size(), 0);
  if (terms == 0) return bounds;
  // A linear layer is a convolution of single pixels: the same sum, the same bound.
  Conv2dProblem problem;
  problem.c = static_cast<int>(terms - 1);
  const double factor = accuracy_of_sums(problem, math).factor(terms);
  for (size_t i = 0; i < bounds.size(); ++i)
    bounds[i] = factor * result.magnitudes[i] + FLT_MIN;  // below it a result may be 0
  return bounds;
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

}  // namespace lenslet
