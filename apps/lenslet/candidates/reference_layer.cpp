#include "apps/lenslet/candidates/reference_layer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "framework/base/error.h"
#include "layers/activation/activation_error.h"
#include "layers/activation/activation_layer.h"
#include "layers/conv/conv_layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/lrn/lrn_layer.h"
#include "layers/pairwise/pairwise_error.h"
#include "layers/pairwise/pairwise_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/rearrange/rearrange_layer.h"
#include "layers/reference/conv_judge.h"
#include "layers/relu/relu_layer.h"
#include "layers/reshape/reshape_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

constexpr int64_t kErrorsOfPower = 16;  // of a power, its argument's and a division, in a normalisation
constexpr double kMaxArgument = 200;    // of an exponential; beyond it the result is 0

const float* data_or_null(const Tensor& tensor) {
  return tensor.shape().num_elements() > 0 ? tensor.data() : nullptr;
}

// Moves of values; without a shape for any other layer.
reference::Result moved(const Layer& layer, const std::vector<LayerInput>& inputs) {
  std::vector<reference::Operand> operands;
  std::vector<Shape> shapes;
  for (const LayerInput& input : inputs) {
    operands.push_back({input.shape, input.values});
    shapes.push_back(input.shape);
  }
  if (const auto* transpose = dynamic_cast<const TransposeLayer*>(&layer))
    return reference::transpose(operands[0], transpose->order());
  if (const auto* pad = dynamic_cast<const PadLayer*>(&layer))
    return reference::pad(operands[0], pad->before(), pad->after(), pad->value());
  if (const auto* slice = dynamic_cast<const SliceLayer*>(&layer)) {
    return reference::slice(operands[0], slice->starts(), slice->steps(), layer.infer_shape(shapes).dims());
  }
  if (const auto* concat = dynamic_cast<const ConcatLayer*>(&layer))
    return reference::join(operands, concat->axis());
  return {};
}

reference::Result paired(const PairwiseLayer& layer, const std::vector<LayerInput>& inputs) {
  const reference::Operand x{inputs[0].shape, inputs[0].values};
  if (!layer.constant())
    return reference::pairwise(x, {inputs.at(1).shape, inputs[1].values}, layer.function_name());
  const reference::Operand constant{layer.constant()->shape(), layer.constant()->data()};
  return layer.constant_first() ? reference::pairwise(constant, x, layer.function_name())
                                : reference::pairwise(x, constant, layer.function_name());
}

}  // namespace

reference::Result reference_layer(const Layer& layer, const std::vector<LayerInput>& inputs, int64_t& terms) {
  terms = 0;
  const Shape& shape = inputs.at(0).shape;
  const float* const x = inputs[0].values;
  if (const auto* conv = dynamic_cast<const Conv2dLayer*>(&layer)) {
    const Conv2dProblem problem = conv->problem_for(shape);
    terms = int64_t{problem.c} / problem.groups * problem.r * problem.s + 1;
    return reference::conv2d(problem, x, conv->weights().data(), data_or_null(conv->bias()), false);
  }
  if (const auto* linear = dynamic_cast<const LinearLayer*>(&layer)) {
    const Shape& weights = linear->weights().shape();
    terms = weights[1] + 1;
    return reference::linear(linear->as_vectors(shape), x, weights[0], linear->weights().data(),
                             data_or_null(linear->bias()));
  }
  if (const auto* pool = dynamic_cast<const MaxPool2dLayer*>(&layer)) {
    return reference::max_pool2d(shape, x, reference_window(pool->window()));
  }
  if (const auto* pool = dynamic_cast<const AvgPool2dLayer*>(&layer)) {
    const Pool2dWindow& w = pool->window();
    terms = int64_t{w.r} * w.s;
    return reference::avg_pool2d(shape, x, reference_window(w), pool->counts_padding());
  }
  if (const auto* softmax = dynamic_cast<const SoftmaxLayer*>(&layer)) {
    // The rounding of an exponential's argument, a difference of up to twice the largest value, changes it by as much;
    // twice, because the sum of exponentials has such errors too.
    double largest = 0;
    for (int64_t i = 0; i < shape.num_elements(); ++i) largest = std::max(largest, std::fabs(double{x[i]}));
    terms = shape[softmax->axis()] + 1 + static_cast<int64_t>(2 * (4 + 2 * std::min(largest, kMaxArgument)));
    return reference::softmax(shape, x, softmax->axis(), softmax->logarithms());
  }
  if (const auto* activation = dynamic_cast<const ActivationLayer*>(&layer)) {
    terms = error_of(activation->function());
    return reference::activation(shape, x, activation->function_name(), activation->a(), activation->b());
  }
  if (const auto* lrn = dynamic_cast<const LrnLayer*>(&layer)) {
    terms = lrn->size() + kErrorsOfPower;
    return reference::lrn(shape, x, lrn->size(), lrn->alpha(), lrn->beta(), lrn->bias());
  }
  if (const auto* pairwise = dynamic_cast<const PairwiseLayer*>(&layer)) {
    terms = error_of(pairwise->function());
    return paired(*pairwise, inputs);
  }
  if (dynamic_cast<const RearrangeLayer*>(&layer)) return moved(layer, inputs);
  if (dynamic_cast<const ReshapeLayer*>(&layer)) {
    reference::Result result;
    result.shape = layer.infer_shape({shape});
    result.values.assign(x, x + shape.num_elements());
    result.magnitudes = result.values;
    return result;
  }
  if (dynamic_cast<const ReluLayer*>(&layer)) return reference::relu(shape, x);
  throw std::logic_error(concat("the reference has no layer type ", layer.type()));
}

double flops_of(const Graph& graph) {
  double flops = 1;
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  for (const Graph::Node& node : graph.nodes())
    if (node.layer) flops += node.layer->work(node.input_shapes(shapes)).flops;
  return flops;
}

}  // namespace lenslet
