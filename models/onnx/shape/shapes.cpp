#include "models/onnx/shape/shapes.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/onnx/read/tensor_values.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {
namespace {

constexpr int64_t kMaxIntegers = 64;  // of a value that is followed: shapes and indices
constexpr int64_t kMaxOutputValues = (int64_t{1} << 31) - 1;  // of one output, as every tensor of Lenslet

Value constant_value(const TensorData& tensor, const std::string& origin) {
  Value value;
  value.is_constant = true;
  value.shape = Shape(tensor.dims.data(), static_cast<int>(tensor.dims.size()));
  if (is_floating(tensor.type)) {
    value.parameters = tensor.count;
  } else if (tensor.count <= kMaxIntegers) {
    value.integers = integer_values(tensor, origin);
  }
  return value;
}

// A value with another free size has no shape.
Value input_value(const ValueInfo& info, int64_t batch, const std::string& origin) {
  Value value;
  if (!info.has_shape) return value;
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (const ValueInfo::Dim& dim : info.dims) {
    if (dim.size < 1 && !dims.empty()) return value;
    dims.push_back(dim.size < 1 ? batch : dim.size);
    if (__builtin_mul_overflow(count, dims.back(), &count) || count > kMaxOutputValues)
      throw DataError(concat(origin, ": input \"", printable_excerpt(info.name), "\" of ", info.shape_text(),
                             " exceeds 2^31 - 1 values"));
  }
  value.shape = Shape(dims);
  return value;
}

void constant_node(Inference& inference, Values& values, const std::string& origin) {
  const Node& node = inference.node();
  Value& out = values[node.outputs.at(0)];
  if (const Attribute* const tensor = node.find("value"); tensor && tensor->tensor) {
    out = constant_value(*tensor->tensor, origin);
  } else if (const Attribute* const integer = node.find("value_int"); integer && integer->integer) {
    inference.set({}, {*integer->integer});
  } else if (node.find("value_ints")) {
    const std::vector<int64_t> integers = node.integers_or("value_ints", {});
    inference.set({static_cast<int64_t>(integers.size())}, integers);
  } else if (node.find("value_float")) {
    inference.set({});
  } else if (const Attribute* const reals = node.find("value_floats")) {
    inference.set({static_cast<int64_t>(reals->reals.size())});
  }
  out.is_constant = true;
}

}  // namespace

const Value& Inference::input(size_t i) const {
  if (!has(i)) fail(concat("input ", i, " is missing"));
  return values_.at(node_.inputs[i]);
}

const Shape& Inference::shape(size_t i) const {
  const Value& value = input(i);
  if (!value.shape) throw Unknown();
  return *value.shape;
}

const std::vector<int64_t>& Inference::integers(size_t i) const {
  const Value& value = input(i);
  if (!value.integers) throw Unknown();
  return *value.integers;
}

std::vector<int64_t> Inference::attribute_or_input(const char* attribute, size_t i,
                                                   std::vector<int64_t> fallback) const {
  if (node_.find(attribute)) return node_.integers_or(attribute, {});
  if (has(i)) return integers(i);
  return fallback;
}

void Inference::set_output(size_t output, const std::vector<int64_t>& dims) {
  if (output >= node_.outputs.size() || node_.outputs[output].empty()) fail("it has no output");
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) fail(concat("its output would have a size of ", dim));
    // Without the zeros, so that no product of some of the sizes overflows either.
    if (__builtin_mul_overflow(count, std::max<int64_t>(dim, 1), &count) || count > kMaxOutputValues)
      fail("its output would exceed 2^31 - 1 values");
  }
  if (dims.size() > Shape::kMaxRank)
    fail(concat("its output would have more than ", Shape::kMaxRank, " dimensions"));
  values_[node_.outputs[output]].shape = Shape(dims);
}

void Inference::set(const std::vector<int64_t>& dims, std::vector<int64_t> integers) {
  set(dims);
  if (static_cast<int64_t>(integers.size()) <= kMaxIntegers)
    values_[node_.outputs[0]].integers = std::move(integers);
}

int Inference::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) fail(concat("axis ", axis, " of a value with ", rank, " dimensions"));
  return static_cast<int>(from_front(axis, rank));
}

void Inference::check_integers(const std::vector<int64_t>& values, size_t count, int64_t min_value,
                               int64_t max_value, const char* what) const {
  if (values.size() != count)
    fail(concat("expected ", count, " numbers in ", what, ", found ", values.size()));
  for (const int64_t value : values)
    if (value < min_value || value > max_value)
      fail(concat("expected ", what, " from ", min_value, " to ", max_value, ", found ", value));
}

void Inference::fail(const std::string& what) const {
  throw DataError(concat(origin_, ": node \"", printable_excerpt(node_.name, 100), "\" (",
                         printable_excerpt(node_.op, 40), "): ", what));
}

std::vector<int64_t> broadcast(const Shape& a, const Shape& b, const Inference& inference) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(a.rank(), b.rank())));
  for (int i = 1; i <= static_cast<int>(dims.size()); ++i) {
    const int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1)
      inference.fail(concat("shapes ", a.to_string(), " and ", b.to_string(), " cannot be broadcast"));
    dims[dims.size() - static_cast<size_t>(i)] = x == 1 ? y : x;
  }
  return dims;
}

Values initial_values(const Model& model, const std::string& origin, int64_t batch) {
  Values values;
  for (const auto& [name, tensor] : model.initializers) values[name] = constant_value(tensor, origin);
  for (const ValueInfo& input : model.inputs) values[input.name] = input_value(input, batch, origin);
  return values;
}

void infer_node(const Node& node, int64_t opset, const std::string& origin, Values& values) {
  for (const std::string& output : node.outputs) {
    if (!output.empty()) values[output];
  }
  Inference inference(node, opset, origin, values);
  if (node.outputs.empty() || node.outputs[0].empty()) inference.fail("it has no output");
  ShapeRule rule = layer_rule(node.op);
  if (!rule) rule = reshaping_rule(node.op);
  try {
    if (node.op == "Constant") {
      constant_node(inference, values, origin);
    } else if (rule) {
      rule(inference);
    }
  } catch (const Inference::Unknown&) {  // the outputs stay unknown
  }
  if (node.op == "Constant") return;
  // What a branch reads from around it is not among the inputs.
  bool constant = std::none_of(node.attributes.begin(), node.attributes.end(),
                               [](const Attribute& attribute) { return attribute.has_graph; });
  int64_t parameters = 0;
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    const Value& value = values.at(input);
    constant = constant && value.is_constant;
    parameters += value.is_constant ? value.parameters : 0;
  }
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    Value& value = values[output];
    const bool follows = constant && !node.inputs.empty();
    value.is_constant = follows || value.integers;
    value.parameters = follows ? parameters : 0;
  }
}

Values infer_values(const Model& model, const std::string& origin, int64_t batch) {
  Values values = initial_values(model, origin, batch);
  for (const Node& node : model.nodes) infer_node(node, model.opset, origin, values);
  return values;
}

Values infer_values_of_two(const Model& model, const std::string& origin) {
  if (model.inputs.empty() || model.inputs[0].dims.empty() || model.inputs[0].dims[0].size >= 1) return {};
  try {
    return infer_values(model, origin, 2);
  } catch (const DataError&) {
    return {};
  }
}

}  // namespace lenslet::onnx
