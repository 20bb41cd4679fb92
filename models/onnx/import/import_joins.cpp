// Operators of several values, element by element or one after another.
#include <algorithm>
#include <unordered_map>

#include "framework/base/error.h"
#include "layers/pairwise/pairwise_layer.h"
#include "layers/rearrange/rearrange_layer.h"
#include "models/onnx/import/importer.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {
namespace {

Pairwise function_of(const std::string& op) {
  static const std::unordered_map<std::string, Pairwise> functions = {
      {"Add", Pairwise::kAdd}, {"Sum", Pairwise::kAdd},    {"Mean", Pairwise::kAdd}, {"Sub", Pairwise::kSub},
      {"Mul", Pairwise::kMul}, {"Div", Pairwise::kDiv},    {"Pow", Pairwise::kPow},  {"Max", Pairwise::kMax},
      {"Min", Pairwise::kMin}, {"PRelu", Pairwise::kPrelu}};
  return functions.at(op);
}

}  // namespace

Tensor Importer::constant_tensor(const Node& node, size_t i) {
  const Shape& shape = constants_.shape(node.inputs.at(i));
  std::vector<int64_t> dims = shape.dims();
  while (!dims.empty() && dims.front() == 1) dims.erase(dims.begin());
  // Before operator set 7 the slopes of channels are a list.
  if (node.op == "PRelu" && model_.opset < 7 && dims.size() == 1) {
    const int after = this->shape(node.inputs.at(0)).rank() - 2;
    dims.insert(dims.end(), static_cast<size_t>(std::max(after, 0)), 1);
  }
  check_room(shape.num_elements());
  return tensor(Shape(dims), constants_.floats(node.inputs[i]));
}

// The function of `left` and input `right` of the node.
Importer::Held Importer::join(const Node& node, const Held& left, size_t right) {
  const Pairwise function = function_of(node.op);
  if (is_constant(node, right))
    return add(node, std::make_unique<PairwiseLayer>(function, constant_tensor(node, right)), {left});
  const Held other = shaped(node, right);
  if (other.shape.rank() != left.shape.rank())
    throw Unsupported{concat("operands ", left.shape.to_string(), " and ", other.shape.to_string(),
                             " of different ranks are not supported")};
  return add(node, std::make_unique<PairwiseLayer>(function), {left, other});
}

void Importer::pairwise(const Node& node) {
  const size_t count = node.inputs.size();
  // A sum, mean or maximum takes any number of operands in any order; the others have two.
  const bool mean = node.op == "Mean";
  const bool any_order = mean || node.op == "Sum" || node.op == "Max" || node.op == "Min";
  if (!any_order && count != 2) throw Unsupported{concat("it has ", count, " inputs, expected 2")};
  for (size_t i = 0; i < count; ++i)
    if (!has(node, i)) throw Unsupported{concat("input ", i, " is missing")};
  if (count == 1) return same_values(node);
  size_t data = 0;
  while (data < count && is_constant(node, data)) ++data;
  if (data == count) throw Skip();
  Held value = shaped(node, data);
  if (!any_order && data == 1) {
    value = add(node, std::make_unique<PairwiseLayer>(function_of(node.op), constant_tensor(node, 0), true),
                {value});
  } else {
    for (size_t i = 0; i < count; ++i)
      if (i != data) value = join(node, value, i);
  }
  if (mean) {
    const float share = 1 / static_cast<float>(count);
    value = add(node, std::make_unique<PairwiseLayer>(Pairwise::kMul, tensor({1}, {share})), {value});
  }
  if (value.shape != shape(node.outputs.at(0)))
    throw Unsupported{concat("Lenslet makes ", value.shape.to_string(), " of it, expected ",
                             shape(node.outputs[0]).to_string())};
  held_[node.outputs[0]] = value;
}

void Importer::concatenate(const Node& node) {
  const Shape y = shape(node.outputs.at(0));
  const int64_t axis = from_front(node.integer_or("axis", 1), y.rank());
  if (axis < 1) throw Unsupported{concat("Concat of samples is not supported, found axis ", axis)};
  std::vector<Held> parts;
  for (size_t i = 0; i < node.inputs.size(); ++i) parts.push_back(shaped(node, i));
  if (parts.size() == 1) return same_values(node);
  put(node, std::make_unique<ConcatLayer>(static_cast<int>(axis)), parts);
}

void Importer::slice(const Node& node) {
  const Shape x = shape(node.inputs.at(0)), y = shape(node.outputs.at(0));
  const auto list = [&](const char* attribute, size_t i, std::vector<int64_t> fallback) {
    if (node.find(attribute)) return node.integers_or(attribute, {});
    if (!has(node, i)) return fallback;
    if (!values_.at(node.inputs[i]).integers)
      throw Unsupported{concat(attribute, " that are not constant are not supported")};
    return *values_.at(node.inputs[i]).integers;
  };
  const std::vector<int64_t> given = list("starts", 1, {});
  std::vector<int64_t> axes;
  for (size_t i = 0; i < given.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  axes = list("axes", 3, axes);
  const std::vector<int64_t> paces = list("steps", 4, std::vector<int64_t>(given.size(), 1));
  std::vector<int64_t> starts(static_cast<size_t>(x.rank()), 0), steps(static_cast<size_t>(x.rank()), 1);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto axis = static_cast<size_t>(from_front(axes.at(i), x.rank()));
    const int64_t size = x[static_cast<int>(axis)], pace = paces.at(i);
    if (axis == 0) throw Unsupported{concat("Slice of samples is not supported, found axis ", axes[i])};
    starts[axis] = std::clamp<int64_t>(from_front(given[i], size), 0, pace > 0 ? size : size - 1);
    steps[axis] = pace;
  }
  put(node, std::make_unique<SliceLayer>(starts, steps, y.dims()), {shaped(node, 0)});
}

// A slice for each part.
void Importer::split(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  const int64_t axis = from_front(node.integer_or("axis", 0), x.rank());
  if (axis == 0)
    throw Unsupported{concat("Split of samples is not supported, found axis ", node.integer_or("axis", 0))};
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> starts(static_cast<size_t>(x.rank()), 0);
  const std::vector<int64_t> steps(starts.size(), 1);
  const Held input = shaped(node, 0);
  for (const std::string& output : node.outputs) {
    if (output.empty()) throw Unsupported{"Split is supported with all its outputs only"};
    const Shape part = shape(output);
    if (readers_.count(output) != 0 || output == model_.outputs[0].name)
      held_[output] = add(node, std::make_unique<SliceLayer>(starts, steps, part.dims()), {input});
    starts[at] += part[static_cast<int>(axis)];
  }
}

// Indices at equal distances are a slice.
void Importer::gather(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  const int64_t axis = from_front(node.integer_or("axis", 0), x.rank());
  if (axis == 0) throw Unsupported{"Gather of samples is not supported"};
  if (!has(node, 1) || !values_.at(node.inputs[1]).integers || values_.at(node.inputs[1]).integers->empty())
    throw Unsupported{"indices that are not constant are not supported"};
  std::vector<int64_t> indices = *values_.at(node.inputs[1]).integers;
  const auto at = static_cast<size_t>(axis);
  for (int64_t& index : indices) {
    if (index < 0) index += x[static_cast<int>(axis)];
    if (index < 0 || index >= x[static_cast<int>(axis)])
      throw Unsupported{concat("index ", index, " lies outside of ", x.to_string())};
  }
  std::vector<int64_t> starts(static_cast<size_t>(x.rank()), 0), steps(starts.size(), 1), counts = x.dims();
  starts[at] = indices[0];
  counts[at] = static_cast<int64_t>(indices.size());
  if (indices.size() > 1) steps[at] = indices[1] - indices[0];
  for (size_t i = 1; i < indices.size(); ++i)
    if (steps[at] == 0 || indices[i] - indices[i - 1] != steps[at])
      throw Unsupported{"Gather is supported with indices at equal distances only"};
  put(node, std::make_unique<SliceLayer>(starts, steps, counts), {shaped(node, 0)});
}

}  // namespace lenslet::onnx
