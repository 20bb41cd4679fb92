#include "models/onnx/shape/constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/settings.h"
#include "framework/base/text.h"
#include "models/onnx/read/reader.h"
#include "models/onnx/read/tensor_values.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {
namespace {

template <size_t count>
bool holds(const std::array<std::string_view, count>& ops, const std::string& op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// Cost of one node in book(), in values: without it, nodes that use one another's results would take exponential time.
constexpr int64_t kCostOfNode = 64;
constexpr std::array<std::string_view, 6> kSameValues = {"Identity", "Dropout",   "Reshape",
                                                         "Squeeze",  "Unsqueeze", "Flatten"};
constexpr std::array<std::string_view, 5> kOfOne = {"Sqrt", "Neg", "Abs", "Exp", "Reciprocal"};
constexpr std::array<std::string_view, 5> kOfTwo = {"Add", "Sub", "Mul", "Div", "Pow"};

float of_one(const std::string& op, float x) {
  if (op == "Sqrt") return std::sqrt(x);
  if (op == "Neg") return -x;
  if (op == "Abs") return std::fabs(x);
  return op == "Exp" ? std::exp(x) : 1 / x;
}

float of_two(const std::string& op, float x, float y) {
  if (op == "Add") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return x * y;
  return op == "Div" ? x / y : std::pow(x, y);
}

// Rounds to whole numbers for integer types. Refuses types in which values lose bits or wrap.
std::vector<float> cast(std::vector<float> values, int64_t to) {
  const auto type = static_cast<ValueType>(to);
  if (type == ValueType::kInt32 || type == ValueType::kInt64) {
    for (float& value : values) value = std::trunc(value);
  } else if (type != ValueType::kFloat && type != ValueType::kDouble) {
    throw Unsupported{concat("weights cast to ", to_string(type))};
  }
  return values;
}

// The value that a ConstantOfShape repeats; 0 without the attribute.
float repeated(const Node& node, const std::string& origin) {
  const Attribute* const given = node.find("value");
  if (!given) return 0;
  if (!given->tensor || given->tensor->count != 1) throw Unsupported{"a ConstantOfShape of several values"};
  return is_floating(given->tensor->type) ? float_values(*given->tensor, origin).at(0)
                                          : static_cast<float>(integer_values(*given->tensor, origin).at(0));
}

}  // namespace

std::string described(const Node& node) {
  return concat(printable_excerpt(node.op, 40), " \"", printable_excerpt(node.name, 60), "\"");
}

bool drops_values(const Node& node, const Values& values) {
  if (node.op != "Dropout" || node.inputs.size() < 3 || node.inputs[2].empty()) return false;
  const auto& training = values.at(node.inputs[2]).integers;
  return !training || training->empty() || training->front() != 0;
}

std::vector<float> transposed(const std::vector<float>& values, const std::vector<int64_t>& dims,
                              const std::vector<int64_t>& order) {
  std::vector<int64_t> strides(dims.size(), 1), index(dims.size(), 0);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  std::vector<float> out;
  out.reserve(values.size());
  while (out.size() < values.size()) {
    int64_t from = 0;
    for (size_t i = 0; i < order.size(); ++i) from += index[i] * strides[static_cast<size_t>(order[i])];
    out.push_back(values[static_cast<size_t>(from)]);
    for (size_t i = order.size(); i-- > 0;) {
      if (++index[i] < dims[static_cast<size_t>(order[i])]) break;
      index[i] = 0;
    }
  }
  return out;
}

Transposition Transposition::of(const Node& node, const Shape& x) {
  std::vector<int64_t> reversed(static_cast<size_t>(x.rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {x.dims(), node.integers_or("perm", reversed)};
}

bool Transposition::moves_values() const {
  int64_t last = 0;
  for (const int64_t axis : order) {
    if (dims[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return true;
    last = axis;
  }
  return false;
}

std::vector<float> Transposition::undone(const std::vector<float>& weights, int64_t rows) const {
  std::vector<int64_t> from(order.size()), back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    from[i] = i == 0 ? rows : dims[static_cast<size_t>(order[i])];
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return transposed(weights, from, back);
}

std::optional<int64_t> computed_weights_setting() {
  static const std::optional<int> setting =
      number_setting(kComputedWeights, "a number of weights", 0, static_cast<int>(kMaxWeights));
  return setting;
}

Constants::Constants(const Model& model, const Values& values, const std::string& origin)
    : model_(model),
      values_(values),
      origin_(origin),
      max_computed_(computed_weights_setting().value_or(kMaxComputed)) {
  for (const Node& node : model.nodes)
    for (const std::string& output : node.outputs)
      if (!output.empty()) producers_[output] = &node;
}

const Shape& Constants::shape(const std::string& name) const {
  const std::optional<Shape>& shape = values_.at(name).shape;
  if (!shape) throw Unsupported{"a constant of unknown shape"};
  return *shape;
}

void Constants::book(int64_t count) {
  left_ -= count + kCostOfNode;
  if (left_ < 0)
    throw Unsupported{concat("nodes that compute more than ", max_computed_, " constant values; ",
                             kComputedWeights, "=N allows N")};
}

std::vector<float> Constants::value(const std::string& name, int depth) {
  const auto read = [&](const TensorData& tensor) {
    if (is_floating(tensor.type)) return float_values(tensor, origin_);
    if (!is_readable(tensor.type)) throw Unsupported{"weights of " + to_string(tensor.type)};
    const std::vector<int64_t> integers = integer_values(tensor, origin_);
    return std::vector<float>(integers.begin(), integers.end());
  };
  if (const auto found = model_.initializers.find(name); found != model_.initializers.end())
    return read(found->second);
  const auto producer = producers_.find(name);
  if (producer == producers_.end()) throw Unsupported{"a weight is an input of the graph"};
  const Node& node = *producer->second;
  if (depth == kMaxDepth) throw Unsupported{concat("weights that more than ", kMaxDepth, " nodes compute")};
  if (node.op != "Constant") {
    book(shape(name).num_elements());
    return computed(node, depth);
  }
  if (const Attribute* const tensor = node.find("value"); tensor && tensor->tensor)
    return read(*tensor->tensor);
  if (const Attribute* const real = node.find("value_float"); real && real->real) return {*real->real};
  if (const Attribute* const reals = node.find("value_floats")) return reals->reals;
  if (values_.at(name).integers) {
    const std::vector<int64_t>& integers = *values_.at(name).integers;
    return {integers.begin(), integers.end()};
  }
  throw Unsupported{concat("weights of ", described(node))};
}

std::vector<float> Constants::computed(const Node& node, int depth) {
  const auto input = [&](size_t i) {
    if (i >= node.inputs.size()) throw Unsupported{concat(described(node), " lacks an input")};
    return value(node.inputs[i], depth + 1);
  };
  std::vector<float> values;
  if (node.op == "ConstantOfShape") {
    values.assign(static_cast<size_t>(shape(node.outputs.at(0)).num_elements()), repeated(node, origin_));
  } else if (holds(kSameValues, node.op)) {
    if (drops_values(node, values_)) throw Unsupported{"Dropout is supported as inference only"};
    values = input(0);
  } else if (node.op == "Cast") {
    values = cast(input(0), node.integer_or("to", 0));
  } else if (node.op == "Transpose") {
    const Transposition transposition = Transposition::of(node, shape(node.inputs.at(0)));
    values = transposed(input(0), transposition.dims, transposition.order);
  } else if (holds(kOfOne, node.op)) {
    values = input(0);
    for (float& value : values) value = of_one(node.op, value);
  } else if (holds(kOfTwo, node.op) && node.inputs.size() == 2) {
    values = combined(node, depth);
  } else {
    throw Unsupported{concat("weights computed by ", described(node))};
  }
  if (static_cast<int64_t>(values.size()) != shape(node.outputs.at(0)).num_elements())
    throw Unsupported{concat("weights of ", described(node), " in another number than its shape has")};
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
    throw Unsupported{concat("weights of ", described(node), " that are not finite")};
  return values;
}

// Whether a constant holds whole numbers. Most nodes compute the type of their first input.
bool Constants::is_whole(const std::string& name, int depth) const {
  if (const auto found = model_.initializers.find(name); found != model_.initializers.end())
    return !is_floating(found->second.type);
  const auto producer = producers_.find(name);
  if (producer == producers_.end() || depth == kMaxDepth) return false;
  const Node& node = *producer->second;
  if (node.op == "Cast") return !is_floating(static_cast<ValueType>(node.integer_or("to", 0)));
  if (node.op == "Shape" || node.find("value_int") || node.find("value_ints")) return true;
  if (const Attribute* const tensor = node.find("value"); tensor && tensor->tensor)
    return !is_floating(tensor->tensor->type);
  const bool copies = node.op != "Constant" && node.op != "ConstantOfShape" && !node.inputs.empty();
  return copies && is_whole(node.inputs[0], depth + 1);
}

std::vector<float> Constants::combined(const Node& node, int depth) {
  const Shape& to = shape(node.outputs.at(0));
  const auto input = [&](size_t i) {
    return broadcast(value(node.inputs[i], depth + 1), shape(node.inputs[i]), to);
  };
  std::vector<float> values = input(0);
  const std::vector<float> others = input(1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = of_two(node.op, values[i], others[i]);
  if (node.op == "Div" && is_whole(node.inputs[0], depth)) {
    for (float& value : values) value = std::trunc(value);
  }
  return values;
}

std::vector<float> Constants::broadcast(const std::vector<float>& values, const Shape& from,
                                        const Shape& to) const {
  if (from == to) return values;
  std::vector<float> out(static_cast<size_t>(to.num_elements()));
  std::vector<int64_t> index(static_cast<size_t>(to.rank()), 0);
  for (float& value : out) {
    int64_t at = 0;
    for (int i = 0; i < from.rank(); ++i) {
      const int64_t place = index[static_cast<size_t>(to.rank() - from.rank() + i)];
      at = at * from[i] + (from[i] == 1 ? 0 : place);
    }
    value = values.at(static_cast<size_t>(at));
    for (int i = to.rank(); i-- > 0;) {
      if (++index[static_cast<size_t>(i)] < to[i]) break;
      index[static_cast<size_t>(i)] = 0;
    }
  }
  return out;
}

}  // namespace lenslet::onnx
