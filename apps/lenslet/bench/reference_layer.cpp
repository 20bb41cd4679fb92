#include "apps/lenslet/bench/reference_layer.h"

#include <stdexcept>

#include "framework/base/error.h"
#include "layers/activation/activation_layer.h"
#include "layers/conv/conv_layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"
#include "layers/reshape/reshape_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet {
namespace {

// Roundings of an activation: a few library functions, each below 4 ulp, and their arguments.
constexpr int64_t kErrorsOfFunction = 16;

const float* data_or_null(const Tensor& tensor) {
  return tensor.shape().num_elements() > 0 ? tensor.data() : nullptr;
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
    return reference::linear(shape, x, weights[0], linear->weights().data(), data_or_null(linear->bias()));
  }
  if (const auto* pool = dynamic_cast<const MaxPool2dLayer*>(&layer)) {
    const Pool2dWindow& w = pool->window();
    return reference::max_pool2d(shape, x,
                                 {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_h, w.pad_w});
  }
  if (const auto* pool = dynamic_cast<const AvgPool2dLayer*>(&layer)) {
    const Pool2dWindow& w = pool->window();
    terms = int64_t{w.kernel_h} * w.kernel_w;
    return reference::avg_pool2d(shape, x, {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_h, w.pad_w},
                                 pool->counts_padding());
  }
  if (const auto* softmax = dynamic_cast<const SoftmaxLayer*>(&layer)) {
    terms = shape[softmax->axis()];
    return reference::softmax(shape, x, softmax->axis(), softmax->logarithms());
  }
  if (const auto* activation = dynamic_cast<const ActivationLayer*>(&layer)) {
    terms = kErrorsOfFunction;
    return reference::activation(shape, x, activation->function(), activation->a(), activation->b());
  }
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
  for (const Graph::Node& node : graph.nodes()) {
    std::vector<Shape> inputs;
    for (const int input : node.inputs) inputs.push_back(shapes[static_cast<size_t>(input)]);
    if (node.layer) flops += node.layer->work(inputs).flops;
  }
  return flops;
}

}  // namespace lenslet
