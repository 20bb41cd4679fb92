#include "models/onnx/lenet5_weights.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "models/onnx/read/attributes.h"
#include "models/onnx/shape/constants.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {
namespace {

struct Difference {
  std::string text;
};

bool is_one_of(const std::string& op, std::initializer_list<const char*> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const char* each) { return op == each; });
}

class Matcher {
 public:
  Matcher(const Model& model, const Values& values, const std::string& origin)
      : model_(model), values_(values), origin_(origin), constants_(model, values, origin) {
    for (const Node& node : model.nodes)
      for (const std::string& output : node.outputs) producers_[output] = &node;
  }

  Lenet5Match match() {
    follow_data();
    check_known_attributes();
    if (!reshape_to({1, 1, 28, 28}, "the input").empty())
      throw Difference{"its input's rows and columns are transposed"};
    conv("conv1", 6, 1, {1, 6, 24, 24});
    relu_and_pool("conv1", {1, 6, 12, 12});
    conv("conv2", 16, 6, {1, 16, 8, 8});
    relu_and_pool("conv2", {1, 16, 4, 4});
    linear("fc1", 120, 256, reshape_to({1, 256}, "the output of the convolutions"));
    take("Relu", "after fc1");
    linear("fc2", 84, 120);
    take("Relu", "after fc2");
    linear("fc3", 10, 84);
    skip_same_shape();
    if (at_ < chain_.size())
      throw Difference{concat("after fc3 comes ", described(*chain_[at_]),
                              "; export the model with logits as its output")};
    for (const char* key : {"mean", "std"})
      if (const auto entry = model_.metadata.find(key); entry != model_.metadata.end())
        weights_.metadata[key] = entry->second;
    std::optional<Shape> input_shape = input_of_channels_last();
    if (input_shape) {  // as any network that reads digits so
      weights_.metadata.emplace("mean", "0");
      weights_.metadata.emplace("std", "1");
    }
    return {std::move(weights_), "", std::move(input_shape)};
  }

 private:
  // A sample's shape if the network keeps channels last, as Keras's do: a Transpose stands before the first convolution
  // or before the first linear layer, and the input is not 1x28x28.
  std::optional<Shape> input_of_channels_last() const {
    const Shape& input = *shape_before(0);
    const bool transposes =
        std::any_of(chain_.begin(), chain_.end(), [](const Node* node) { return node->op == "Transpose"; });
    if (!transposes || input == Shape{1, 1, 28, 28}) return std::nullopt;
    return input.sample();
  }

  // The nodes between the input and the output, which must be one chain.
  void follow_data() {
    if (model_.inputs.size() != 1 || model_.outputs.size() != 1)
      throw Difference{concat("it has ", model_.inputs.size(), " inputs and ", model_.outputs.size(),
                              " outputs, expected one of each")};
    if (model_.inputs[0].type != ValueType::kFloat)
      throw Difference{"its input is " + to_string(model_.inputs[0].type) + ", expected float"};
    std::string name = model_.outputs[0].name;
    while (name != model_.inputs[0].name) {
      const auto producer = producers_.find(name);
      if (producer == producers_.end()) throw Difference{"its output does not depend on its input"};
      const Node& node = *producer->second;
      if (node.outputs[0] != name) throw Difference{concat("it uses the second output of ", described(node))};
      chain_.push_back(&node);
      std::vector<std::string> data;
      for (const std::string& input : node.inputs)
        if (!input.empty() && !values_.at(input).is_constant) data.push_back(input);
      if (data.empty()) throw Difference{"its output does not depend on its input"};
      if (data.size() > 1) throw Difference{concat(described(node), " joins branches")};
      name = data[0];
    }
    std::reverse(chain_.begin(), chain_.end());
  }

  // Checks every node that the output depends on.
  void check_known_attributes() const {
    std::vector<std::string> wanted = {model_.outputs[0].name};
    std::unordered_set<const Node*> seen;
    while (!wanted.empty()) {
      const auto producer = producers_.find(wanted.back());
      wanted.pop_back();
      if (producer == producers_.end() || !seen.insert(producer->second).second) continue;
      const Node& node = *producer->second;
      if (std::string unknown = unknown_attribute(node, model_.opset); !unknown.empty())
        throw Difference{std::move(unknown)};
      wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
    }
  }

  const Shape* shape_before(size_t at) const {
    const std::string& name = at == 0 ? model_.inputs[0].name : chain_[at - 1]->outputs[0];
    const Value& value = values_.at(name);
    return value.shape ? &*value.shape : nullptr;
  }

  // Nodes that change nothing.
  void skip_same_shape() {
    const auto changes_nothing = [this](const Node& node) {
      if (is_one_of(node.op, {"Identity", "Dropout"})) return !drops_values(node, values_);
      const Shape *before = shape_before(at_), *after = shape_before(at_ + 1);
      return is_one_of(node.op, {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) && before && after &&
             *before == *after;
    };
    while (at_ < chain_.size() && changes_nothing(*chain_[at_])) ++at_;
  }

  // Returns the Transposes among these nodes that give values of a sample other places.
  std::vector<Transposition> reshape_to(const Shape& wanted, const char* what) {
    std::vector<Transposition> transpositions;
    for (; at_ < chain_.size(); ++at_) {
      const Node& node = *chain_[at_];
      if (node.op == "Transpose") {
        Transposition transposition = transposition_of(node);
        if (transposition.moves_values()) transpositions.push_back(std::move(transposition));
      } else if (!is_one_of(node.op, {"Identity", "Dropout", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}) ||
                 drops_values(node, values_)) {
        break;
      }
    }
    check_shape(wanted, what);
    return transpositions;
  }

  // The next node's, which must leave every sample alone. At a batch of 1 alone a first dimension of 1 need not be it.
  Transposition transposition_of(const Node& node) {
    const Shape* const before = shape_before(at_);
    if (!before) throw Difference{concat(described(node), " reads a value of unknown shape")};
    if (!of_two_) of_two_ = infer_values_of_two(model_, origin_);
    Transposition transposition = Transposition::of(node, *before);
    std::vector<int64_t> of_two = transposition.dims;
    if (!of_two.empty()) of_two[0] = 2;
    const auto found = of_two_->find(node.inputs.at(0));
    const bool keeps_samples =
        found == of_two_->end() || (found->second.shape && found->second.shape->dims() == of_two);
    if (!transposition.keeps_batch() || transposition.dims[0] != 1 || !keeps_samples)
      throw Difference{concat(described(node), " mixes samples")};
    return transposition;
  }

  void check_shape(const Shape& wanted, const std::string& what) const {
    const Shape* const found = shape_before(at_);
    if (!found || *found != wanted)
      throw Difference{concat(what, " is ", found ? found->to_string() : "of unknown shape", ", expected ",
                              wanted.to_string())};
  }

  bool next_is(const char* op) {
    skip_same_shape();
    return at_ < chain_.size() && chain_[at_]->op == op;
  }

  const Node& take(const char* op, const std::string& where) {
    if (!next_is(op))
      throw Difference{concat(where, " comes ", at_ < chain_.size() ? described(*chain_[at_]) : "the output",
                              ", expected ", op)};
    return *chain_[at_++];
  }

  void check_attribute(const Node& node, const char* attribute, const std::vector<int64_t>& fallback,
                       const std::vector<int64_t>& wanted) const {
    if (node.integers_or(attribute, fallback) != wanted)
      throw Difference{concat(described(node), " has other ", attribute, " than LeNet-5")};
  }

  void conv(const std::string& name, int64_t k, int64_t c, const Shape& output) {
    const Node& node = take("Conv", "before " + name);
    const std::vector<int64_t> ones(2, 1), zeros(4, 0);
    check_attribute(node, "strides", ones, ones);
    check_attribute(node, "dilations", ones, ones);
    check_attribute(node, "pads", zeros, zeros);
    const Shape wanted{k, c, 5, 5};
    const std::optional<Shape>& weights = values_.at(node.inputs.at(1)).shape;
    if (node.integer_or("group", 1) != 1 || !weights || *weights != wanted)
      throw Difference{concat(described(node), " has weights ", weights ? weights->to_string() : "unknown",
                              ", expected ", wanted.to_string())};
    check_shape(output, "the output of " + described(node));
    weights_.tensors.emplace(name + ".weight", Tensor(wanted, constants(node.inputs[1])));
    bias(name, k, node, {Shape{k, 1, 1}, Shape{1, k, 1, 1}});
  }

  // The bias of the node's third input, or of an Add after it.
  void bias(const std::string& name, int64_t count, const Node& node,
            const std::vector<Shape>& added_shapes) {
    std::vector<float> values(static_cast<size_t>(count), 0.0f);
    const bool own = node.inputs.size() > 2 && !node.inputs[2].empty();
    if (own) {
      values = constants(node.inputs[2]);
    } else if (next_is("Add")) {
      const Node& add = *chain_[at_++];
      if (add.inputs.size() != 2)
        throw Difference{concat(described(add), " has another number of inputs than 2")};
      const std::string& term = add.inputs.at(values_.at(add.inputs.at(0)).is_constant ? 0 : 1);
      const std::optional<Shape>& shape = values_.at(term).shape;
      if (!shape || std::find(added_shapes.begin(), added_shapes.end(), *shape) == added_shapes.end())
        throw Difference{concat(described(add), " adds ", shape ? shape->to_string() : "an unknown shape",
                                ", expected a bias of ", count, " values")};
      values = constants(term);
    }
    if (static_cast<int64_t>(values.size()) != count)
      throw Difference{
          concat(described(node), " has a bias of ", values.size(), " values, expected ", count)};
    weights_.tensors.emplace(name + ".bias", Tensor({count}, values));
  }

  // max(x, 0) and the maximum of a window give the same bits in either order.
  void relu_and_pool(const std::string& after, const Shape& output) {
    const bool pool_first = next_is("MaxPool");
    if (!pool_first) take("Relu", "after " + after);
    const Node& pool = take("MaxPool", "after " + after);
    check_attribute(pool, "kernel_shape", {}, {2, 2});
    check_attribute(pool, "strides", {1, 1}, {2, 2});
    check_attribute(pool, "dilations", {1, 1}, {1, 1});
    check_attribute(pool, "pads", {0, 0, 0, 0}, {0, 0, 0, 0});
    check_shape(output, "the output of " + described(pool));
    if (pool_first) take("Relu", "after " + after);
  }

  // The transpositions are of the samples that it reads, in the order of execution.
  void linear(const std::string& name, int64_t outputs, int64_t inputs,
              const std::vector<Transposition>& transpositions = {}) {
    const bool is_matmul = next_is("MatMul");
    const Node& node = is_matmul ? *chain_[at_++] : take("Gemm", "before " + name);
    if (values_.at(node.inputs.at(0)).is_constant || node.integer_or("transA", 0) != 0 ||
        node.real_or("alpha", 1) != 1 || node.real_or("beta", 1) != 1)
      throw Difference{concat(described(node), " is not x times weights plus bias")};
    const bool as_ours = !is_matmul && node.integer_or("transB", 0) != 0;
    const Shape wanted = as_ours ? Shape{outputs, inputs} : Shape{inputs, outputs};
    const std::optional<Shape>& found = values_.at(node.inputs.at(1)).shape;
    if (!found || *found != wanted)
      throw Difference{concat(described(node), " has weights ", found ? found->to_string() : "unknown",
                              ", expected ", wanted.to_string())};
    std::vector<float> values = constants(node.inputs[1]);
    if (!as_ours) values = transposed(values, {inputs, outputs}, {1, 0});
    for (size_t i = transpositions.size(); i-- > 0;) values = transpositions[i].undone(values, outputs);
    weights_.tensors.emplace(name + ".weight", Tensor({outputs, inputs}, values));
    bias(name, outputs, node, {Shape{outputs}, Shape{1, outputs}});
  }

  std::vector<float> constants(const std::string& name) {
    try {
      return constants_.floats(name);
    } catch (const Unsupported& unsupported) {
      throw Difference{unsupported.reason};
    }
  }

  const Model& model_;
  const Values& values_;
  const std::string& origin_;
  Constants constants_;
  std::optional<Values> of_two_;  // the values for a batch of 2, once a Transpose needs them
  std::unordered_map<std::string, const Node*> producers_;
  std::vector<const Node*> chain_;
  size_t at_ = 0;
  Safetensors weights_;
};

}  // namespace

Lenet5Match match_lenet5(const Model& model, const Values& values, const std::string& origin) {
  // Nodes of older sets mean something else, which the matcher does not support.
  if (model.opset < 7) return {{}, concat("its operator set is ", model.opset, ", expected 7 or later")};
  try {
    return Matcher(model, values, origin).match();
  } catch (const Difference& difference) {
    return {{}, difference.text};
  }
}

}  // namespace lenslet::onnx
