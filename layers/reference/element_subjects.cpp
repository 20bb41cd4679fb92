// Subjects of layers that compute element by element or move values.
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/tensor/roundoff.h"
#include "layers/activation/activation_error.h"
#include "layers/activation/activation_layer.h"
#include "layers/lrn/lrn_layer.h"
#include "layers/pairwise/pairwise_error.h"
#include "layers/pairwise/pairwise_layer.h"
#include "layers/rearrange/rearrange_layer.h"
#include "layers/reference/fill.h"
#include "layers/reference/layer_subject.h"
#include "layers/relu/relu_layer.h"
#include "layers/reshape/reshape_layer.h"

namespace lenslet::reference {
namespace {

std::vector<float> values_for(const Shape& shape, uint64_t seed) {
  return uniform_values(static_cast<size_t>(shape.num_elements()), seed);
}

// A case whose output must be exact; judge and layer are still missing.
LayerCase exact_case(const Shape& input, SubjectOptions options) {
  LayerCase one;
  one.data = to_string(Fill::kRandom);
  one.input = input;
  one.x = values_for(input, options.seed);
  one.factor = [](MathMode) { return 0.0; };
  return one;
}

// The judge computes with the test's own parameters, not with those that it could read from the layer: a fault in the
// layer must not move both.
LayerSubject moving_subject(LayerCase one, std::shared_ptr<const Layer> layer,
                            std::function<Result(const Operand&)> judge, SubjectOptions options) {
  std::string problem = concat(layer->type(), " of ", one.input.to_string(), ", ", layer->describe());
  one.layer = std::move(layer);
  one.judge = [judge = std::move(judge), input = one.input](const float* x) { return judge({input, x}); };
  return {std::move(problem), {std::move(one)}, options};
}

}  // namespace

LayerSubject relu_subject(const Shape& input, SubjectOptions options) {
  LayerCase one;
  one.data = to_string(Fill::kRandom);
  one.layer = std::make_shared<ReluLayer>();
  one.input = input;
  one.x = values_for(input, options.seed);
  one.judge = [input](const float* x) { return relu(input, x); };
  one.factor = [](MathMode) { return 0.0; };
  return {"relu " + input.to_string(), {std::move(one)}, options};
}

LayerSubject reshape_subject(const Shape& input, const Shape& sample, SubjectOptions options) {
  LayerCase one;
  one.data = to_string(Fill::kRandom);
  one.layer = std::make_shared<ReshapeLayer>(sample);
  one.input = input;
  one.x = values_for(input, options.seed);
  one.judge = [input](const float* x) {
    Result result{input, {x, x + input.num_elements()}, {}};
    result.magnitudes = result.values;
    return result;
  };
  one.factor = [](MathMode) { return 0.0; };
  return {concat("reshape ", input.to_string(), " to ", sample.to_string()), {std::move(one)}, options};
}

namespace {

// Errors in units of 2^-24; without any the result is exact, however small.
void allow(LayerCase& one, int errors) {
  one.factor = [errors](MathMode) { return errors * kUnitFp32; };
  one.floor = errors > 0 ? kFlushedToZero : 0;
}

LayerCase activation_case(Activation function, float a, float b, const Shape& input, std::vector<float> x) {
  LayerCase one;
  const std::string name = kActivationNames[static_cast<int>(function)];
  one.data = concat(name, " ", a, " ", b);
  one.layer = std::make_shared<ActivationLayer>(function, a, b);
  one.input = input;
  one.x = std::move(x);
  one.judge = [input, name, a, b](const float* values) { return activation(input, values, name, a, b); };
  allow(one, error_of(function));
  return one;
}

// Whether results for small integers are exact if the parameters are powers of two near 1.
bool exact_on_integers(Activation function) {
  return error_of(function) == 0 || function == Activation::kLeakyRelu ||
         function == Activation::kHardSigmoid || function == Activation::kHardSwish;
}

}  // namespace

LayerSubject activation_subject(const Shape& input, SubjectOptions options, const std::string& only) {
  const int64_t count = input.num_elements();
  std::vector<LayerCase> cases;
  for (int index = 0; index < kActivations; ++index) {
    const std::string name = kActivationNames[index];
    if (!only.empty() && only != name) continue;
    const auto function = static_cast<Activation>(index);
    for (const auto& [a, b] : {std::pair(0.2f, 0.5f), std::pair(1.5f, 1.75f)}) {
      std::vector<float> x = values_for(input, options.seed);
      const bool positive = name == "log" || name == "sqrt" || name == "reciprocal";
      for (float& value : x) value = positive ? std::fabs(value) * 5 + 0.125f : value * 5;
      cases.push_back(activation_case(function, a, b, input, std::move(x)));
    }
    if (!exact_on_integers(function)) continue;
    LayerCase one = activation_case(function, 0.25f, 0.5f, input,
                                    small_integers(static_cast<size_t>(count), options.seed));
    one.data += concat(", ", to_string(Fill::kIntegers));
    allow(one, 0);
    cases.push_back(std::move(one));
  }
  return {concat("activation ", only.empty() ? "" : only + " ", input.to_string()), std::move(cases),
          options};
}

namespace {

// Values for which the function is defined and well conditioned: pow needs positive bases, div no small divisors.
std::vector<float> operand_values(const Shape& shape, const std::string& function, bool second,
                                  uint64_t seed) {
  std::vector<float> values = values_for(shape, seed);
  for (float& value : values) {
    if (function == "pow") value = second ? 3 * value : 0.25f + 2 * std::fabs(value);
    if (function == "div" && second) value = value < 0 ? value - 0.25f : value + 0.25f;
  }
  return values;
}

// Small integers for which the function is exact: divisors are powers of two.
std::vector<float> operand_integers(const Shape& shape, const std::string& function, bool second,
                                    uint64_t seed) {
  std::vector<float> values = small_integers(static_cast<size_t>(shape.num_elements()), seed);
  for (float& value : values) {
    if (function == "div" && second)
      value = std::copysign(std::exp2(std::fmod(std::fabs(value), 3.0f)), value);
  }
  return values;
}

// The data of a case of two operands: random or integers.
struct OperandData {
  Fill fill;
  std::vector<float> of(const Shape& shape, const std::string& function, bool second, uint64_t seed) const {
    return fill == Fill::kIntegers ? operand_integers(shape, function, second, seed)
                                   : operand_values(shape, function, second, seed);
  }
  void name_and_allow(LayerCase& one, Pairwise function) const {
    if (fill == Fill::kIntegers) one.data += concat(", ", to_string(fill));
    allow(one, fill == Fill::kIntegers ? 0 : error_of(function));
  }
};

// Powers of integers are rounded.
std::vector<OperandData> data_for(Pairwise function) {
  if (function == Pairwise::kPow) return {{Fill::kRandom}};
  return {{Fill::kRandom}, {Fill::kIntegers}};
}

}  // namespace

LayerSubject pairwise_subject(const Shape& a, const Shape& b, SubjectOptions options) {
  std::vector<LayerCase> cases;
  for (int index = 0; index < kPairwiseFunctions; ++index) {
    const std::string name = kPairwiseNames[index];
    const auto function = static_cast<Pairwise>(index);
    for (const OperandData& data : data_for(function)) {
      LayerCase one;
      one.data = name;
      one.layer = std::make_shared<PairwiseLayer>(function);
      one.input = a;
      one.x = data.of(a, name, false, options.seed);
      one.others = {{b, data.of(b, name, true, options.seed + 1)}};
      one.judge = [a, name, other = one.others[0]](const float* x) {
        return pairwise({a, x}, {other.shape, other.values.data()}, name);
      };
      data.name_and_allow(one, function);
      cases.push_back(std::move(one));
    }
  }
  return {concat("pairwise ", a.to_string(), " and ", b.to_string()), std::move(cases), options};
}

LayerSubject constant_subject(const Shape& input, const Shape& constant, SubjectOptions options) {
  std::vector<LayerCase> cases;
  const auto add = [&](Pairwise function, const OperandData& data, bool first) {
    const std::string name = kPairwiseNames[static_cast<int>(function)];
    const std::vector<float> values = data.of(constant, name, !first, options.seed + 1);
    LayerCase one;
    one.data = concat(name, first ? ", constant first" : "");
    one.layer = std::make_shared<PairwiseLayer>(function, Tensor(constant, values), first);
    one.input = input;
    one.x = data.of(input, name, first, options.seed);
    one.judge = [input, constant, values, name, first](const float* x) {
      const Operand variable{input, x}, fixed{constant, values.data()};
      return first ? pairwise(fixed, variable, name) : pairwise(variable, fixed, name);
    };
    data.name_and_allow(one, function);
    cases.push_back(std::move(one));
  };
  for (int index = 0; index < kPairwiseFunctions; ++index) {
    const auto function = static_cast<Pairwise>(index);
    for (const OperandData& data : data_for(function)) {
      for (const bool first : {false, true}) add(function, data, first);
    }
  }
  return {concat("pairwise ", input.to_string(), " and a constant ", constant.to_string()), std::move(cases),
          options};
}

LayerSubject lrn_subject(const Shape& input, int64_t size, float alpha, float beta, float bias,
                         SubjectOptions options) {
  LayerCase one = exact_case(input, options);
  for (float& value : one.x) value *= 3;
  // A sum of squares, whose relative error the power multiplies by beta, then a power and a division.
  const double relative = kUnitFp32 * (static_cast<double>(size + 3) * beta + 8);
  one.factor = [relative](MathMode) { return relative; };
  one.layer = std::make_shared<LrnLayer>(size, alpha, beta, bias);
  one.judge = [=](const float* x) { return lrn(input, x, size, alpha, beta, bias); };
  std::string problem = concat("lrn ", input.to_string(), ", ", one.layer->describe());
  return {std::move(problem), {std::move(one)}, options};
}

LayerSubject transpose_subject(const Shape& input, const std::vector<int>& order, SubjectOptions options) {
  return moving_subject(
      exact_case(input, options), std::make_shared<TransposeLayer>(order),
      [order](const Operand& x) { return transpose(x, order); }, options);
}

LayerSubject pad_subject(const Shape& input, const std::vector<int64_t>& before,
                         const std::vector<int64_t>& after, SubjectOptions options) {
  constexpr float kValue = -1.5f;
  return moving_subject(
      exact_case(input, options), std::make_shared<PadLayer>(before, after, kValue),
      [before, after](const Operand& x) { return pad(x, before, after, kValue); }, options);
}

LayerSubject slice_subject(const Shape& input, const std::vector<int64_t>& starts,
                           const std::vector<int64_t>& steps, const std::vector<int64_t>& counts,
                           SubjectOptions options) {
  std::vector<int64_t> dims = counts;
  dims[0] = input[0];
  return moving_subject(
      exact_case(input, options), std::make_shared<SliceLayer>(starts, steps, counts),
      [starts, steps, dims](const Operand& x) { return slice(x, starts, steps, dims); }, options);
}

LayerSubject concat_subject(const std::vector<Shape>& inputs, int axis, SubjectOptions options) {
  LayerCase one = exact_case(inputs.at(0), options);
  for (size_t i = 1; i < inputs.size(); ++i)
    one.others.push_back({inputs[i], values_for(inputs[i], options.seed + i)});
  return moving_subject(
      one, std::make_shared<ConcatLayer>(axis),
      [others = one.others, axis](const Operand& x) {
        std::vector<Operand> parts = {x};
        for (const OwnedInput& other : others) parts.push_back({other.shape, other.values.data()});
        return join(parts, axis);
      },
      options);
}

}  // namespace lenslet::reference
