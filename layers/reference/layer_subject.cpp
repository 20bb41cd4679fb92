#include "layers/reference/layer_subject.h"

#include <cfloat>
#include <utility>

#include "framework/tensor/roundoff.h"
#include "framework/tensor/stored_floats.h"
#include "layers/activation/activation_layer.h"
#include "layers/conv/conv_accuracy.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/conv_judge.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_run.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"

namespace lenslet::reference {
namespace {

using Values = std::vector<float>;

Values filled(Fill fill, int64_t count, uint64_t seed) {
  const auto size = static_cast<size_t>(count);
  return fill == Fill::kIntegers ? small_integers(size, seed) : uniform_values(size, seed);
}

}  // namespace

double sum_factor(int64_t terms, MathMode math) {
  Conv2dProblem problem;
  problem.c = static_cast<int>(terms);
  return accuracy_of_sums(problem, math).factor(terms + 1);
}

// The numbers are the judge's own: a fault in read_fusion(), from which the backends take theirs, must not move both.
const std::vector<FusedRectifier>& fused_rectifiers() {
  static const ReluLayer kRelu;
  static const ActivationLayer kLeaky(Activation::kLeakyRelu, 0.25f), kClip(Activation::kClip, 0, 0.5f);
  static const std::vector<FusedRectifier> kAll = {
      {}, {&kRelu, 0, INFINITY}, {&kLeaky, 0.25, INFINITY}, {&kClip, 0, 0.5}};
  return kAll;
}

std::vector<Shape> LayerCase::inputs() const {
  std::vector<Shape> shapes = {input};
  for (const OwnedInput& other : others) shapes.push_back(other.shape);
  return shapes;
}

OperatorRequest LayerCase::request(Device device, MathMode math, const FusedRectifier& after) const {
  OperatorRequest request;
  request.device = device;
  request.inputs = inputs();
  request.output = layer->infer_shape(request.inputs);
  request.math = math;
  if (after.layer) request.fused = {after.layer};
  return request;
}

void LayerCase::verify(Operator& op, const OperatorRequest& request, const FusedRectifier& after,
                       Stream& stream, int64_t shift, VerifyResult& result) const {
  const bool reads_fp16 = request.input_type == ElementType::kFp16;
  std::vector<float> rounded = x;
  round_to(request.input_type, rounded);
  const std::vector<float> stored =
      stored_floats(request.input_type, rounded.data(), static_cast<int64_t>(rounded.size()));
  std::vector<ConstTensorView> views = {{nullptr, input, request.device, request.input_type}};
  std::vector<const void*> values = {stored.data()};
  for (const OwnedInput& other : others) {
    views.push_back({nullptr, other.shape, request.device});
    values.push_back(other.values.data());
  }
  const GuardedRun run = run_guarded(stream, op, views, values,
                                     {nullptr, request.output, request.device, request.output_type}, shift);
  std::optional<Result>& expected = reads_fp16 ? expected_of_fp16_ : expected_;
  if (!expected) expected = judge(rounded.data());
  std::vector<float> y = run.output;
  if (request.output_type == ElementType::kFp16) {
    y.resize(static_cast<size_t>(request.output.num_elements()));
    load_floats(request.output_type, run.output.data(), request.output.num_elements(), y.data());
  }
  const StoringError storing = storing_error(request.output_type);
  Comparison comparison;
  for (size_t i = 0; i < expected->values.size() && i < y.size(); ++i) {
    double value = rectified(expected->values[i], after.slope, after.ceiling);
    double bound = factor(request.math) * expected->magnitudes[i] + floor;
    if (bound == 0) {  // exact, and so the nearest number of the type
      value = rounded_to(request.output_type, static_cast<float>(value));
    } else {
      bound += storing.relative * (std::fabs(value) + bound) + storing.absolute;
    }
    comparison.add(static_cast<int64_t>(i), y[i], value, bound);
  }
  result.add(comparison);
  std::string wrong = run.fault;
  if (wrong.empty() && y.size() != expected->values.size())
    wrong = concat("wrote ", y.size(), " values, the reference has ", expected->values.size());
  if (wrong.empty()) wrong = comparison.reason();
  if (!wrong.empty())
    result.reason =
        concat(data, after.layer ? concat(", ", after.layer->describe()) : "", reads_fp16 ? ", fp16 in" : "",
               request.output_type == ElementType::kFp16 ? ", fp16 out" : "", ": ", wrong);
}

VerifyResult LayerSubject::judge(const std::string& backend, MathMode math, Stream& stream,
                                 int64_t shift) const {
  VerifyResult result;
  for (const LayerCase& one : cases_) {
    for (const FusedRectifier& after : fused_rectifiers()) {
      for (const LayerEnds& ends : kLayerEnds) {
        OperatorRequest request = one.request(stream.device(), math, after);
        request.workspace_limit = options_.workspace_limit;
        request.input_type = ends.input;
        request.output_type = ends.output;
        const bool fp32 = ends.input == ElementType::kFp32 && ends.output == ElementType::kFp32;
        if (!fp32 && shift != 0) continue;
        if (const Support support = one.layer->supports(backend, request); !support) {
          if (after.layer || !fp32) continue;  // it computes the layer, and does not fuse or take this one
          if (support.code() == ExitCode::kMemory) throw MemoryError(support.reason());
          throw UnavailableError(support.reason());
        }
        const std::unique_ptr<Operator> op = one.layer->prepare(backend, request, stream);
        result.detail = op->detail();
        one.verify(*op, request, after, stream, shift, result);
        if (!result.reason.empty()) return result;
      }
    }
  }
  result.passed = true;
  return result;
}

LayerSubject linear_subject(const Shape& input, int64_t outputs, SubjectOptions options,
                            LinearVectors vectors) {
  const bool rows = vectors == LinearVectors::kRows;
  const int64_t inputs = rows ? input[-1] : input.num_elements() / input[0];
  const Shape matrix{input.num_elements() / inputs, inputs};
  std::vector<LayerCase> cases;
  for (const Fill fill : {Fill::kRandom, Fill::kIntegers}) {
    const Values w = filled(fill, inputs * outputs, options.seed + 1),
                 b = filled(fill, outputs, options.seed + 2);
    const Values x = filled(fill, input.num_elements(), options.seed);
    for (const bool bias : {true, false}) {
      LayerCase one;
      one.data = concat(to_string(fill), bias ? "" : ", no bias");
      one.layer = std::make_shared<LinearLayer>(Tensor({outputs, inputs}, w),
                                                bias ? Tensor({outputs}, b) : Tensor(), vectors);
      one.input = input;
      one.x = x;
      one.judge = [w, b, matrix, outputs, bias](const float* values) {
        return linear(matrix, values, outputs, w.data(), bias ? b.data() : nullptr);
      };
      one.factor = [fill, inputs](MathMode math) {
        return fill == Fill::kIntegers ? 0.0 : sum_factor(inputs, math);
      };
      cases.push_back(std::move(one));
    }
  }
  const std::string samples = input.rank() == 2 ? concat(input[0], "x", inputs) : input.to_string();
  return {concat("linear ", samples, rows ? " by row -> " : " -> ", outputs), std::move(cases), options};
}

LayerSubject pool_subject(Pooling kind, const Shape& input, const Pool2dWindow& w, SubjectOptions options) {
  const PoolWindow judged = reference_window(w);
  const double terms = static_cast<double>(w.r) * w.s;
  const bool padding = kind == Pooling::kAverage;
  std::vector<LayerCase> cases;
  for (const Fill fill : {Fill::kRandom, Fill::kIntegers}) {
    LayerCase one;
    one.data = to_string(fill);
    one.input = input;
    one.x = filled(fill, input.num_elements(), options.seed);
    if (kind == Pooling::kMax) {
      one.layer = std::make_shared<MaxPool2dLayer>(w);
      one.judge = [input, judged](const float* x) { return max_pool2d(input, x, judged); };
      one.factor = [](MathMode) { return 0.0; };
    } else {
      one.layer = std::make_shared<AvgPool2dLayer>(w, padding);
      one.judge = [input, judged, padding](const float* x) { return avg_pool2d(input, x, judged, padding); };
      one.factor = [terms](MathMode) { return 1.01 * kUnitFp32 * (terms + 1); };  // a sum, then a division
    }
    cases.push_back(std::move(one));
  }
  const Layer& layer = *cases[0].layer;
  std::string problem = concat(layer.type(), " ", input.to_string(), ", ", layer.describe());
  return {std::move(problem), std::move(cases), options};
}

LayerSubject softmax_subject(const Shape& input, double scale, SubjectOptions options, int axis,
                             bool logarithms) {
  LayerCase one;
  one.data = concat(to_string(Fill::kRandom), " up to ", scale);
  one.layer = std::make_shared<SoftmaxLayer>(axis, logarithms);
  one.input = input;
  one.x = filled(Fill::kRandom, input.num_elements(), options.seed);
  for (float& value : one.x) value *= static_cast<float>(scale);
  one.judge = [input, axis, logarithms](const float* x) { return softmax(input, x, axis, logarithms); };
  // Error of an exponential: 2 ulp, plus the rounding of its argument, a difference of up to 2 * scale. Then a sum of
  // `classes` exponentials and a division. The factor of two covers the exponentials in the sum.
  const double relative = kUnitFp32 * (2 * (4 + 2 * scale) + static_cast<double>(input[axis]) + 1);
  one.factor = [relative](MathMode) { return relative; };
  one.floor = FLT_MIN;  // below it a result may be 0
  const std::string where = axis < 0 ? "" : concat(" over dimension ", axis);
  return {concat("softmax ", input.to_string(), where, logarithms ? ", logarithms" : ""),
          {std::move(one)},
          options};
}

}  // namespace lenslet::reference
