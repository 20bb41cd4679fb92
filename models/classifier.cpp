#include "models/classifier.h"

#include <cfloat>
#include <cmath>

#include "layers/softmax/softmax_layer.h"
#include "models/lenet5.h"

namespace lenslet {

bool reads_digits(const Graph& graph) {
  constexpr int64_t kSide = kLenet5Side;
  const Shape& sample = graph.input_shape();
  const bool grey =
      sample == Shape{1, kSide, kSide} || sample == Shape{kSide, kSide, 1} || sample == Shape{kSide, kSide};
  return grey && graph.output_shape().num_elements() == kLenet5Classes;
}

bool writes_probabilities(const Graph& graph) {
  const auto* softmax = dynamic_cast<const SoftmaxLayer*>(graph.nodes().back().layer.get());
  return softmax && !softmax->logarithms();
}

void make_logits(float* probabilities, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float& value = probabilities[i];
    value = std::log(value < FLT_MIN ? FLT_MIN : value);
  }
}

Prediction prediction_of(const float* logits, int64_t classes) {
  Prediction prediction;
  for (int64_t k = 1; k < classes; ++k) {
    if (logits[k] > logits[prediction.label]) prediction.label = static_cast<int32_t>(k);
  }
  const double largest = logits[prediction.label];
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - largest);
  prediction.probability = static_cast<float>(1 / sum);
  return prediction;
}

}  // namespace lenslet
