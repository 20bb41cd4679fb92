#include "apps/lenslet/logits_check.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "apps/common/text.h"
#include "layers/conv/conv_layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/reference.h"
#include "layers/relu/relu_layer.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;
constexpr int64_t kCheckedImages = 64;  // judged in a tenth of a second
constexpr double kRoundoff = 0x1p-24;   // of fp32
constexpr double kTf32Cut = 0x1p-10;    // of an operand: tensor cores drop the bits behind the tenth
constexpr double kFp16Cut = 0x1p-11;    // of an operand rounded to nearest
constexpr int kNanByte = 0xff;          // four of them are a NaN

const float* data_or_null(const Tensor& tensor) {
  return tensor.shape().num_elements() > 0 ? tensor.data() : nullptr;
}

double largest(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

reference::Result judge(const Layer& layer, const Shape& shape, const std::vector<float>& x, int64_t& terms) {
  terms = 0;
  if (const auto* conv = dynamic_cast<const Conv2dLayer*>(&layer)) {
    const Conv2dProblem problem = conv->problem_for(shape);
    terms = int64_t{problem.c} / problem.groups * problem.r * problem.s + 1;
    return reference::conv2d(problem, x.data(), conv->weights().data(), data_or_null(conv->bias()), false);
  }
  if (const auto* linear = dynamic_cast<const LinearLayer*>(&layer)) {
    const Shape& weights = linear->weights().shape();
    terms = weights[1] + 1;
    return reference::linear(shape, x.data(), weights[0], linear->weights().data(),
                             data_or_null(linear->bias()));
  }
  if (const auto* pool = dynamic_cast<const MaxPool2dLayer*>(&layer)) {
    const Pool2dWindow& w = pool->window();
    return reference::max_pool2d(shape, x.data(),
                                 {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_h, w.pad_w});
  }
  if (layer.is_relu()) return reference::relu(shape, x.data());
  throw std::logic_error(concat("the reference does not know the layer type ", layer.type()));
}

}  // namespace

ReferenceOutput reference_output(const Graph& graph, const Shape& input, const std::vector<float>& values,
                                 MathMode math) {
  struct Value {
    Shape shape;
    std::vector<float> data;
  };
  std::vector<Value> computed = {{input, values}};  // by node; node 0 is the input
  const double operand = math == MathMode::kFp32 ? 0 : math == MathMode::kTf32 ? kTf32Cut : kFp16Cut;
  ReferenceOutput output;
  for (size_t i = 1; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    const Value& x = computed[static_cast<size_t>(node.inputs.at(0))];
    int64_t terms = 0;
    const reference::Result result = judge(*node.layer, x.shape, x.data, terms);
    if (terms > 0) {
      const double sum = largest(result.values);
      const double cancellation = sum > 0 ? largest(result.magnitudes) / sum : 1;
      output.relative_bound += cancellation * (static_cast<double>(terms) * kRoundoff + 2 * operand);
    }
    computed.push_back({result.shape, {result.values.begin(), result.values.end()}});
    if (i + 1 == graph.nodes().size()) output.values = result.values;
  }
  return output;
}

LogitsCheck::LogitsCheck(const Graph& graph, const std::vector<float>& images, MathMode math) {
  const int64_t count = std::min(static_cast<int64_t>(images.size()) / kPixels, kCheckedImages);
  expected_ = reference_output(graph, {count, 1, kLenet5Side, kLenet5Side},
                               {images.begin(), images.begin() + count * kPixels}, math);
  scale_ = largest(expected_.values);
  error_.bound = expected_.relative_bound * scale_;
  error_.checked = static_cast<int64_t>(expected_.values.size());
}

std::string LogitsCheck::run(Executable& executable) {
  Stream& stream = executable.stream();
  // A pass that did not run, or ran in part, must not find the answer of the pass before it.
  for (const Executable::Step& step : executable.steps()) {
    fill_bytes(step.output.data, executable.device(), kNanByte, step.output.shape.bytes(), stream);
  }
  executable.run();
  std::vector<float> logits(static_cast<size_t>(executable.output().shape.num_elements()));
  copy_bytes(logits.data(), Device::cpu(), executable.output().data, executable.device(),
             logits.size() * sizeof(float), stream);
  stream.synchronize();
  bool close = true;
  for (size_t i = 0; i < expected_.values.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(logits[i]) - expected_.values[i]);
    close = close && difference <= error_.bound;  // false for what is not a number
    if (!(difference <= error_.max_abs)) error_.max_abs = difference;
  }
  error_.max_rel = scale_ > 0 ? error_.max_abs / scale_ : error_.max_abs;
  if (close) return {};
  return concat("logits differ from the fp64 reference's by ", format_short(error_.max_abs), ", allowed ",
                format_short(error_.bound));
}

}  // namespace lenslet
