#include "models/classifier.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "framework/base/text.h"
#include "layers/activation/activation_layer.h"
#include "layers/reshape/reshape_layer.h"
#include "layers/softmax/softmax_layer.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

// The last layer that changes more than the shape.
const Layer* last_that_computes(const Graph& graph) {
  const Graph::Node* last = &graph.nodes().back();
  while (dynamic_cast<const ReshapeLayer*>(last->layer.get()))
    last = &graph.nodes()[static_cast<size_t>(last->inputs[0])];
  return last->layer.get();
}

/// The first of equal ones.
int32_t largest_of(const float* logits, int64_t classes) {
  int32_t largest = 0;
  for (int64_t k = 1; k < classes; ++k) {
    if (logits[k] > logits[largest]) largest = static_cast<int32_t>(k);
  }
  return largest;
}

}  // namespace

int64_t classes_of(const Graph& graph) {
  const Shape output = graph.output_shape();
  int64_t longest = 0;
  for (int i = 0; i < output.rank(); ++i) longest = std::max(longest, output[i]);
  return longest >= 2 && longest == output.num_elements() ? longest : 0;
}

bool reads_digits(const Graph& graph) {
  constexpr int64_t kSide = kLenet5Side;
  const Shape& sample = graph.input_shape();
  const bool grey =
      sample == Shape{1, kSide, kSide} || sample == Shape{kSide, kSide, 1} || sample == Shape{kSide, kSide};
  return grey && classes_of(graph) == kLenet5Classes;
}

bool writes_probabilities(const Graph& graph) {
  const auto* softmax = dynamic_cast<const SoftmaxLayer*>(last_that_computes(graph));
  return softmax && !softmax->logarithms();
}

std::string fault_of_shares(const Graph& graph) {
  const auto* last = dynamic_cast<const ActivationLayer*>(last_that_computes(graph));
  const bool hard = last && last->function() == Activation::kHardSigmoid;
  if (!hard && !(last && last->function() == Activation::kSigmoid)) return {};
  const char* const name = hard ? "HardSigmoid" : "Sigmoid";
  return concat(
      "the network ends in ", name,
      ", whose outputs are independent: several classes may be true, or none; export it without the ", name,
      " to name the likeliest class");
}

void make_logits(float* probabilities, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float& value = probabilities[i];
    value = std::log(value < FLT_MIN ? FLT_MIN : value);
  }
}

int predicted_class(const float* logits, int64_t classes) {
  const bool finite = std::all_of(logits, logits + classes, [](float value) { return std::isfinite(value); });
  return finite ? largest_of(logits, classes) : -1;
}

Prediction prediction_of(const float* logits, int64_t classes) {
  Prediction prediction;
  prediction.label = largest_of(logits, classes);
  const double largest = logits[prediction.label];
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - largest);
  prediction.probability = static_cast<float>(1 / sum);
  return prediction;
}

double energy(const float* logits, int classes) {
  const double largest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int i = 0; i < classes; ++i) sum += std::exp(logits[i] - largest);
  return largest + std::log(sum);
}

void softmax(const float* logits, int classes, double* probabilities) {
  const double largest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int i = 0; i < classes; ++i) {
    probabilities[i] = std::exp(static_cast<double>(logits[i]) - largest);
    sum += probabilities[i];
  }
  for (int i = 0; i < classes; ++i) probabilities[i] /= sum;
}

std::vector<Guess> ranked(const float* logits, int classes, size_t max_guesses) {
  std::vector<Guess> guesses;
  if (predicted_class(logits, classes) < 0) return guesses;
  std::vector<double> probabilities(static_cast<size_t>(classes));
  softmax(logits, classes, probabilities.data());
  for (int i = 0; i < classes; ++i) guesses.push_back({i, probabilities[static_cast<size_t>(i)]});
  std::stable_sort(guesses.begin(), guesses.end(),
                   [&](const Guess& a, const Guess& b) { return logits[a.digit] > logits[b.digit]; });
  guesses.resize(std::min(max_guesses, guesses.size()));
  return guesses;
}

}  // namespace lenslet
