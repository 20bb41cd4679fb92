#include "apps/lenslet/candidates/logits_check.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <mutex>
#include <numeric>

#include "apps/common/output/text.h"
#include "apps/lenslet/candidates/layer_bound.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/tensor/host_values.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/roundoff.h"
#include "framework/tensor/stored_floats.h"
#include "layers/softmax/softmax_error.h"
#include "models/logit_deviations.h"

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

reference::Result result_of(const Shape& shape, const std::vector<float>& values,
                            const std::vector<float>& magnitudes) {
  return {shape, {values.begin(), values.end()}, {magnitudes.begin(), magnitudes.end()}};
}

}  // namespace

ReferenceLogits::ReferenceLogits(const Graph& graph, const uint8_t* pixels, int64_t count)
    : graph_(graph), count_(count), classes_(graph.output_shape().num_elements()), computed_(1) {
  Value& input = computed_[0];
  input.shape = graph.infer_shapes(count)[0];
  input.data.resize(static_cast<size_t>(input.shape.num_elements()));
  graph.normalisation().apply(pixels, input.shape.num_elements(), input.data.data());
  for (size_t i = 1; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    Value value;
    const reference::Result result = reference_layer(*node.layer, inputs_of(node, computed_), value.terms);
    value.shape = result.shape;
    value.data.assign(result.values.begin(), result.values.end());
    value.magnitudes.assign(result.magnitudes.begin(), result.magnitudes.end());
    computed_.push_back(std::move(value));
    if (i + 1 == graph.nodes().size()) values_ = result.values;
  }
  scale_ = largest(values_);
}

std::vector<LayerInput> ReferenceLogits::inputs_of(const Graph::Node& node,
                                                   const std::vector<Value>& values) const {
  std::vector<LayerInput> inputs;
  for (const int input : node.inputs) {
    const Value& x = values[static_cast<size_t>(input)];
    inputs.push_back({x.shape, x.data.data()});
  }
  return inputs;
}

double ReferenceLogits::bound(const Executable& executable) const {
  const Plan& plan = executable.plan();
  if (plan.execution == Plan::kFused) {
    const Executable::Step& step = executable.steps().at(0);
    return step.layer->output_bound(
        step.backend, executable.graph().network_request(executable.device(), executable.batch(), step.math,
                                                         plan.input, plan.output));
  }
  const Arithmetic arithmetic = arithmetic_of(executable);
  const auto known = bounds_.find(arithmetic);
  if (known != bounds_.end()) return known->second;
  return bounds_[arithmetic] = carried_bound(arithmetic);
}

ReferenceLogits::Arithmetic ReferenceLogits::arithmetic_of(const Executable& executable) const {
  std::map<std::string, Arithmetic::value_type> by_name;
  for (const Executable::Step& step : executable.steps()) {
    by_name[step.name] = {step.entry, step.math};
    for (const std::string& fused : step.fused) by_name[fused] = {step.entry, step.math};
  }
  Arithmetic arithmetic;
  for (size_t i = 1; i < graph_.nodes().size(); ++i) arithmetic.push_back(by_name.at(graph_.nodes()[i].name));
  return arithmetic;
}

double ReferenceLogits::carried_bound(const Arithmetic& arithmetic) const {
  std::vector<std::vector<float>> deviations = {std::vector<float>(computed_[0].data.size(), 0)};
  for (size_t i = 1; i < computed_.size(); ++i) {
    const Graph::Node& node = graph_.nodes()[i];
    const Value& y = computed_[i];
    std::vector<std::vector<float>> carried;
    for (const int input : node.inputs) carried.push_back(deviations[static_cast<size_t>(input)]);
    const auto [entry, math] = arithmetic[i - 1];
    const std::vector<double> errors =
        layer_deviations(*node.layer, *entry, math, inputs_of(node, computed_), carried,
                         result_of(y.shape, y.data, y.magnitudes), y.terms);
    deviations.emplace_back(errors.begin(), errors.end());
  }
  const std::vector<double> means = mean_errors(arithmetic);
  double bound = 0;
  for (size_t k = 0; k < values_.size(); ++k) {
    const double mean = means.empty() ? 0 : std::fabs(means[k]);
    const double of_logit = mean + kLogitDeviations * double{deviations.back()[k]};
    if (std::isnan(of_logit)) return NAN;  // no answer is within it
    bound = std::max(bound, of_logit);
  }
  return bound + FLT_MIN;  // below it a result may be 0
}

// The graph once more, with inputs that are smaller by mean_loss() where a layer multiplies them.
std::vector<double> ReferenceLogits::mean_errors(const Arithmetic& arithmetic) const {
  const auto loss_of = [&](size_t i) {
    return mean_loss(*graph_.nodes()[i].layer, arithmetic[i - 1].second, computed_[i].terms);
  };
  bool any = false;
  for (size_t i = 1; i < computed_.size(); ++i) any = any || loss_of(i) > 0;
  if (!any) return {};
  std::vector<Value> moved = {computed_[0]};
  std::vector<double> errors;
  for (size_t i = 1; i < computed_.size(); ++i) {
    const Graph::Node& node = graph_.nodes()[i];
    std::vector<LayerInput> inputs = inputs_of(node, moved);
    std::vector<float> smaller;
    if (const double loss = loss_of(i); loss > 0) {
      smaller.assign(inputs[0].values, inputs[0].values + inputs[0].shape.num_elements());
      for (float& value : smaller) value = static_cast<float>(value * (1 - loss));
      inputs[0].values = smaller.data();
    }
    int64_t terms = 0;
    const reference::Result result = reference_layer(*node.layer, inputs, terms);
    moved.push_back({result.shape, {result.values.begin(), result.values.end()}, {}, terms});
    errors = result.values;
  }
  for (size_t k = 0; k < errors.size(); ++k) errors[k] -= values_[k];
  return errors;
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

// Infinite for an impossible label or probability. If each logit moves by at most `bound`, the odds p / (1 - p) change
// by at most the factor exp(2 bound): numerator and denominator move in opposite directions.
double ReferenceLogits::deviation(int64_t sample, Prediction prediction, double bound) const {
  if (prediction.label < 0 || prediction.label >= classes_) return INFINITY;
  double best = -INFINITY;
  for (int64_t k = 0; k < classes_; ++k) best = std::max(best, logit(sample, k));
  if (best - logit(sample, prediction.label) > 2 * bound) return INFINITY;
  const double right = probability(sample, prediction.label), found = double{prediction.probability};
  constexpr double kMaxBound = 100;  // beyond it every probability is possible
  const double factor = std::exp(2 * std::min(bound, kMaxBound));
  const double min = right / (right + (1 - right) * factor), max = right / (right + (1 - right) / factor);
  return found >= min - kSoftmaxError && found <= max + kSoftmaxError ? std::fabs(found - right) : INFINITY;
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
                ", which no logits within ", format_short(bound), " of the fp64 reference's have");
}

namespace {

int64_t checked_images(const Graph& graph, int64_t pixels) {
  const auto max_images =
      static_cast<int64_t>(std::clamp(kCheckedFlops / flops_of(graph), 1.0, double{kCheckedImages}));
  return std::min(pixels / graph.input_shape().num_elements(), max_images);
}

/// Copies the first `count` items of a view, along its first dimension, to the host as fp32.
std::vector<float> first_of(ConstTensorView view, int64_t count, Stream& stream) {
  view.shape = view.shape.with_batch(count);
  const std::vector<unsigned char> stored = host_values<unsigned char>(view, stream);
  std::vector<float> values(static_cast<size_t>(view.shape.num_elements()));
  load_floats(view.type, stored.data(), view.shape.num_elements(), values.data());
  return values;
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
  const std::vector<float> answers = host_values(output, stream);
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
      inputs.push_back({input.shape.with_batch(count), x.back().data()});
    }
    executable.run_step(i);
    const std::vector<float> y = first_of(step.output, count, executable.stream());
    int64_t terms = 0;
    reference::Result right = reference_layer(*step.layer, inputs, terms);
    std::vector<double> allowed = layer_bounds(*step.layer, *step.entry, step.math, inputs, right, terms);
    for (const std::string& fused : step.fused)
      apply_fused(*executable.graph().node(fused).layer, right, allowed);
    const StoringError storing = storing_error(step.output.type);
    for (size_t k = 0; k < y.size(); ++k) {
      allowed[k] += storing.relative * (std::fabs(right.values[k]) + allowed[k]) + storing.absolute;
      if (std::fabs(double{y[k]} - right.values[k]) <= allowed[k]) continue;
      return WrongStep{i, concat("layer ", step.nodes(), " (", step.backend, "): output ", k, " is ", y[k],
                                 ", the fp64 reference's ", format_short(right.values[k]), ", allowed ",
                                 format_short(allowed[k]))};
    }
  }
  return std::nullopt;
}

}  // namespace lenslet
