#include "apps/lenslet/candidates/logits_check.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <mutex>
#include <numeric>

#include "apps/common/output/text.h"
#include "framework/base/parallel.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/roundoff.h"
#include "layers/activation/activation_layer.h"
#include "layers/softmax/softmax_error.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

// Judging them takes a tenth of a second for LeNet-5; of a larger network fewer are judged, as many as take seconds.
constexpr int64_t kCheckedImages = 64;
constexpr double kCheckedFlops = 1e9;

double largest(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

// By how much a function enlarges errors of its input, relative to the largest value on either side: that of a sigmoid
// far below 0 grows with the distance, because its relative change is the absolute change of the input. At least 1.
double growth_of_errors(const Layer& function, const LayerInput& x, const reference::Result& y,
                        double error) {
  const auto count = static_cast<size_t>(x.shape.num_elements());
  double scale = 0;
  for (size_t i = 0; i < count; ++i) scale = std::max(scale, std::fabs(double{x.values[i]}));
  const double largest_y = largest(y.values);
  if (!(scale > 0) || !(largest_y > 0)) return 1;
  double change = 0;
  std::vector<float> moved(count);
  for (const double by : {-error * scale, error * scale}) {
    for (size_t i = 0; i < count; ++i) moved[i] = static_cast<float>(x.values[i] + by);
    int64_t ignored = 0;
    const reference::Result other = reference_layer(function, {{x.shape, moved.data()}}, ignored);
    for (size_t i = 0; i < count; ++i) change = std::max(change, std::fabs(other.values[i] - y.values[i]));
  }
  const double growth = change / (error * largest_y);
  // Where the function has no number beside x, such as 1 / x at 0, an infinite bound would accept everything.
  return growth > 1 && std::isfinite(growth) ? growth : 1;
}

}  // namespace

ReferenceLogits::ReferenceLogits(const Graph& graph, const uint8_t* pixels, int64_t count)
    : count_(count), classes_(graph.output_shape().num_elements()) {
  struct Value {
    Shape shape;
    std::vector<float> data;
  };
  std::vector<Value> computed(1);  // by node; node 0 is the input
  computed[0].shape = graph.infer_shapes(count)[0];
  computed[0].data.resize(static_cast<size_t>(computed[0].shape.num_elements()));
  graph.normalisation().apply(pixels, computed[0].shape.num_elements(), computed[0].data.data());
  for (size_t i = 1; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    std::vector<LayerInput> inputs;
    for (const int input : node.inputs) {
      const Value& x = computed[static_cast<size_t>(input)];
      inputs.push_back({x.shape, x.data.data()});
    }
    int64_t terms = 0;
    const reference::Result result = reference_layer(*node.layer, inputs, terms);
    if (dynamic_cast<const ActivationLayer*>(node.layer.get())) {
      const double growth = growth_of_errors(*node.layer, inputs[0], result, std::max(rounding_, kUnitFp32));
      rounding_ *= growth;
      operands_ *= growth;
    }
    if (terms > 0) {
      const double sum = largest(result.values);
      const double cancellation = sum > 0 ? largest(result.magnitudes) / sum : 1;
      rounding_ += cancellation * static_cast<double>(terms) * kUnitFp32;
      operands_ += cancellation * 2;
    }
    computed.push_back({result.shape, {result.values.begin(), result.values.end()}});
    if (i + 1 == graph.nodes().size()) values_ = result.values;
  }
  scale_ = largest(values_);
  if (writes_probabilities(graph)) {  // a probability changes by no more than the largest logit does
    const Value& logits = computed[computed.size() - 2];
    scale_ = std::max(scale_, largest({logits.data.begin(), logits.data.end()}));
  }
}

double ReferenceLogits::bound(const Executable& executable) const {
  const Plan& plan = executable.plan();
  if (plan.execution == Plan::kFused) {
    const Executable::Step& step = executable.steps().at(0);
    return step.layer->output_bound(
        step.backend, executable.graph().network_request(executable.device(), executable.batch(), step.math,
                                                         plan.input, plan.output));
  }
  double operand = 0;
  for (const Executable::Step& step : executable.steps()) {
    operand = std::max(operand, operand_roundoff(step.math));
  }
  return (rounding_ + operands_ * operand) * scale_ + FLT_MIN;  // below it a result may be 0
}

double ReferenceLogits::probability(int64_t sample, int64_t label) const {
  double sum = 0;
  for (int64_t k = 0; k < classes_; ++k) sum += std::exp(logit(sample, k) - logit(sample, label));
  return 1 / sum;
}

double ReferenceLogits::deviation(int64_t sample, const float* logits) const {
  double worst = 0;
  for (int64_t k = 0; k < classes_; ++k) {
    const double difference = std::fabs(double{logits[k]} - logit(sample, k));
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst;
}

// Infinite for an impossible label or probability. An error of `bound` in each logit changes a probability by at most
// the factor exp(2 bound), because numerator and denominator change.
double ReferenceLogits::deviation(int64_t sample, Prediction prediction, double bound) const {
  if (prediction.label < 0 || prediction.label >= classes_) return INFINITY;
  double best = -INFINITY;
  for (int64_t k = 0; k < classes_; ++k) best = std::max(best, logit(sample, k));
  if (best - logit(sample, prediction.label) > std::min(2 * bound, kTieMargin)) return INFINITY;
  const double right = probability(sample, prediction.label);
  const double difference = std::fabs(double{prediction.probability} - right);
  const double allowed = std::min(right * std::expm1(2 * bound), kProbabilityError) + kSoftmaxError;
  return difference <= allowed ? difference : INFINITY;
}

std::string ReferenceLogits::compare(ElementType type, const void* answers,
                                     const std::vector<int32_t>& sample_of, double bound,
                                     ResultError& error) const {
  const bool logits = type == ElementType::kFp32;
  std::mutex mutex;
  double worst = 0;
  int64_t worst_slot = -1;
  parallel_for(static_cast<int64_t>(sample_of.size()), 1024, [&](int64_t begin, int64_t end) {
    double found = 0;
    int64_t found_slot = -1;
    for (int64_t slot = begin; slot < end; ++slot) {
      const int64_t sample = sample_of[static_cast<size_t>(slot)];
      const double here = logits ? deviation(sample, static_cast<const float*>(answers) + slot * classes_)
                                 : deviation(sample, static_cast<const Prediction*>(answers)[slot], bound);
      if (here <= found) continue;
      found = here;
      found_slot = slot;
      if (!std::isfinite(here)) break;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (found <= worst) return;
    worst = found;
    worst_slot = found_slot;
  });
  if (!(worst <= error.max_abs)) error.max_abs = worst;
  error.max_rel = logits && scale_ > 0 ? error.max_abs / scale_ : error.max_abs;
  error.bound = std::max(error.bound, bound);
  error.checked += static_cast<int64_t>(sample_of.size()) * (logits ? classes_ : 1);
  if (logits ? worst <= bound : std::isfinite(worst)) return {};
  if (logits) {
    return concat("logits differ from the fp64 reference's by ", format_short(worst), " in sample ",
                  worst_slot, ", allowed ", format_short(bound));
  }
  const Prediction wrong = static_cast<const Prediction*>(answers)[worst_slot];
  return concat("sample ", worst_slot, " is read as ", wrong.label, " with probability ", wrong.probability,
                ", which the fp64 reference does not allow: logits within ", format_short(bound),
                ", probability within ", kProbabilityError);
}

namespace {

int64_t checked_images(const Graph& graph, int64_t pixels) {
  const auto max_images =
      static_cast<int64_t>(std::clamp(kCheckedFlops / flops_of(graph), 1.0, double{kCheckedImages}));
  return std::min(pixels / graph.input_shape().num_elements(), max_images);
}

/// Copies the first `count` items of a view, along its first dimension, to the host.
std::vector<float> first_of(ConstTensorView view, int64_t count, Stream& stream) {
  const int64_t values = view.shape.num_elements() / view.shape[0] * count;
  std::vector<float> host(static_cast<size_t>(values));
  copy_bytes(host.data(), Device::cpu(), view.data, view.device, host.size() * sizeof(float), stream);
  stream.synchronise();
  return host;
}

/// The reference's result for a step's layers, and the step's error bound: the layer that sums takes the worst rounding
/// of each product, at the output with the largest sum. ReLU and maxima do not increase an error.
reference::Result judge_step(const Graph& graph, const Executable::Step& step, std::vector<LayerInput> inputs,
                             double& bound) {
  bound = 0;
  std::vector<std::string> names = {step.name};
  names.insert(names.end(), step.fused.begin(), step.fused.end());
  reference::Result result;
  std::vector<float> x;
  for (const std::string& name : names) {
    int64_t terms = 0;
    result = reference_layer(*graph.node(name).layer, inputs, terms);
    if (terms > 0) {
      bound = largest(result.magnitudes) *
              (static_cast<double>(terms) * kUnitFp32 + 2 * operand_roundoff(step.math));
    }
    x.assign(result.values.begin(), result.values.end());
    inputs = {{result.shape, x.data()}};
  }
  return result;
}

}  // namespace

LogitsCheck::LogitsCheck(const Graph& graph, const std::vector<uint8_t>& pixels)
    : expected_(graph, pixels.data(), checked_images(graph, static_cast<int64_t>(pixels.size()))),
      sample_of_(static_cast<size_t>(expected_.count())) {
  std::iota(sample_of_.begin(), sample_of_.end(), 0);
}

std::string LogitsCheck::run(Executable& executable) {
  Stream& stream = executable.stream();
  // If a pass does not run completely, the check must not find the answers of the pass before.
  for (const Executable::Step& step : executable.steps()) {
    fill_bytes(step.output.data, executable.device(), kNanByte, step.output.bytes(), stream);
  }
  const TensorView output = executable.output();
  fill_bytes(output.data, executable.device(), kNanByte, output.bytes(), stream);
  executable.run();
  std::vector<float> answers(output.bytes() / sizeof(float));
  copy_bytes(answers.data(), Device::cpu(), output.data, executable.device(), output.bytes(), stream);
  stream.synchronise();
  error_.checked = 0;
  return expected_.compare(output.type, answers.data(), sample_of_, expected_.bound(executable), error_);
}

std::optional<LogitsCheck::WrongStep> LogitsCheck::first_wrong_step(Executable& executable) const {
  if (executable.plan().execution == Plan::kFused) return std::nullopt;
  const int64_t count = std::min(executable.slice_samples(), expected_.count());
  for (size_t i = 0; i < executable.steps().size(); ++i) {
    const Executable::Step& step = executable.steps()[i];
    std::vector<std::vector<float>> x;
    std::vector<LayerInput> inputs;
    for (const ConstTensorView& input : step.inputs) {
      x.push_back(first_of(input, count, executable.stream()));
      std::vector<int64_t> dimensions = {count};
      for (int d = 1; d < input.shape.rank(); ++d) dimensions.push_back(input.shape[d]);
      inputs.push_back({Shape(dimensions.data(), static_cast<int>(dimensions.size())), x.back().data()});
    }
    executable.run_step(i);
    const std::vector<float> y = first_of(step.output, count, executable.stream());
    double bound = 0;
    const reference::Result right = judge_step(executable.graph(), step, inputs, bound);
    for (size_t k = 0; k < y.size(); ++k) {
      // The judge rounds a layer's values to fp32.
      const double allowed = bound + kUnitFp32 * std::fabs(right.values[k]);
      if (std::fabs(double{y[k]} - right.values[k]) <= allowed) continue;
      return WrongStep{i, concat("layer ", step.nodes(), " (", step.backend, "): output ", k, " is ", y[k],
                                 ", the fp64 reference's ", format_short(right.values[k]), ", allowed ",
                                 format_short(allowed))};
    }
  }
  return std::nullopt;
}

}  // namespace lenslet
