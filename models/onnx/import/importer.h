// Internal: the walk over a model that builds its graph (import.h), and the rules for each operator.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/tensor/tensor.h"
#include "models/onnx/import/import.h"
#include "models/onnx/read/unique_names.h"
#include "models/onnx/shape/constants.h"

namespace lenslet::onnx {

/// Operators that an ActivationLayer computes with parameters from attributes alone.
inline constexpr std::array<const char*, 20> kActivationOperators = {
    "Abs",  "Ceil",           "Celu", "Elu",        "Erf",  "Exp",      "Floor",    "HardSwish", "LeakyRelu",
    "Log",  "Mish",           "Neg",  "Reciprocal", "Selu", "Softplus", "Softsign", "Sqrt",      "Swish",
    "Tanh", "ThresholdedRelu"};

class Importer {
 public:
  Importer(const Model& model, const Values& values, const std::string& name, const std::string& origin);
  Import import();
  /// Checks the operators alone.
  Import judge_operators();

 private:
  /// A value of the model: the node of the graph that computes it, and its shape there for a batch of 1. A Flatten or a
  /// Reshape changes the shape in the model only, because the values keep their order, until a layer needs the shape.
  struct Held {
    std::string node;  // empty if a node before it was refused
    Shape shape;
    std::vector<int64_t> pads;  // zeros around it that the next convolution adds: top, left, bottom, right
    std::optional<Transposition> transposition = {};  // of its samples, which the next products undo
    bool is_stored() const { return pads.empty() && !transposition; }  // as the model has it
  };
  /// Thrown where nothing can be said of a node, because what it reads has no shape.
  struct Skip {};
  /// y = scale * x + shift for each channel.
  struct Affine {
    std::vector<double> scale, shift;
  };
  using Rule = void (Importer::*)(const Node&);

  void find_needed();
  void name_values();
  void take(const Node& node);
  /// Throws Unsupported if no layer computes the operator, an attribute or an output.
  void check_operator(const Node& node) const;
  void finish(const std::string& output);
  static Rule rule_of(const std::string& op);

  // import_layers.cpp
  void conv(const Node& node);
  void gemm(const Node& node);
  void matmul(const Node& node);
  void linear(const Node& node, bool weights_transposed, double alpha, double beta);
  void batch_normalisation(const Node& node);
  void lrn(const Node& node);
  // import_pools.cpp
  void pool(const Node& node);
  void global_pool(const Node& node);
  void reduce(const Node& node);
  void pool_rows(const Node& node, const Shape& planes, bool columns);
  // import_shapes.cpp
  void same_values(const Node& node);
  void transpose(const Node& node);
  /// Whether all that is computed from `value` is products with constant weights, which may take another order of it.
  bool only_products_read(const std::string& value) const;
  void pad(const Node& node);
  void cast(const Node& node);
  // import_activations.cpp
  void activation(const Node& node);
  void clip(const Node& node);
  void gelu(const Node& node);
  void sigmoid(const Node& node);
  void comparison(const Node& node);
  void choice(const Node& node);
  // import_joins.cpp
  void pairwise(const Node& node);
  void concatenate(const Node& node);
  void slice(const Node& node);
  void split(const Node& node);
  void gather(const Node& node);
  Held join(const Node& node, const Held& left, size_t right);
  // import_elementwise.cpp
  void relu(const Node& node);
  void softmax(const Node& node);

  /// Whether node has that input.
  static bool has(const Node& node, size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); }
  /// Whether it is there and depends on no input of the graph.
  bool is_constant(const Node& node, size_t i) const;
  /// The shape of a value in the model, with a first dimension of 1. Throws Unsupported if its first dimension is not
  /// the batch, Skip if it is unknown.
  Shape shape(const std::string& value) const;
  /// Input `i`, which must depend on the graph's input.
  Held data(const Node& node, size_t i = 0);
  /// data() in the shape that it has in the model, or in `wanted`; adds a layer if that is another one.
  Held shaped(const Node& node, size_t i, std::optional<Shape> wanted = std::nullopt);
  /// Adds the layer of a node, and returns the value that it computes.
  Held add(const Node& node, std::unique_ptr<Layer> layer, const std::vector<Held>& inputs);
  /// Adds a layer named `wanted`, or nearly so, and returns its name. Where the graph is full, ends it with a fault and
  /// returns "".
  std::string append(const std::string& wanted, std::unique_ptr<Layer> layer,
                     const std::vector<std::string>& inputs);
  /// Like add(), and stores the value as the node's output.
  void put(const Node& node, std::unique_ptr<Layer> layer, const std::vector<Held>& inputs);

  /// The constant `name` as one number for each of the `channels` in dimension `axis` of a value of `rank` dimensions;
  /// none if it has another shape.
  std::optional<std::vector<double>> per_channel(const std::string& name, int rank, int axis,
                                                 int64_t channels);
  /// What a BatchNormalization computes.
  Affine affine_of(const Node& node, int64_t channels);
  /// What a node that adds or multiplies constants computes from `value`, whose channels are dimension `axis`; none for
  /// any other.
  std::optional<Affine> affine_of_reader(const Node& node, const std::string& value, int axis,
                                         int64_t channels);
  /// Follows the readers of `value` that fold into the layer that computes it, whose channels are dimension `axis`.
  /// Returns the last one's output.
  std::string fold_readers(std::string value, int axis, Affine& affine);
  /// Throws Unsupported where operator set 6 gives a node another meaning than later ones, which the rules follow.
  void check_later_meaning(const Node& node) const;
  /// Whether `choice`, a Where, is PyTorch's softplus: x > 20 ? x : Softplus(x), which Softplus alone computes in fp32.
  bool is_softplus(const Node& choice);
  /// The node that computes a value; null for the input and constants of the file.
  const Node* producer_of(const std::string& value) const;
  /// The node that multiplies `value` with what `node` reads, and is its only reader; null if there is none.
  const Node* product_with_input(const Node& node);
  /// Constant input `i` as one number; `fallback` without it.
  double number_or(const Node& node, size_t i, double fallback);
  /// Constant input `i` as a host tensor of its shape, without leading dimensions of 1.
  Tensor constant_tensor(const Node& node, size_t i);
  /// Throws Unsupported unless layers may take as many weights more. Call it before a node computes them.
  void check_room(int64_t weights) const;
  /// A host tensor, counted: layers that share a constant have copies.
  Tensor tensor(const Shape& shape, const std::vector<float>& values);

  const Model& model_;
  const Values& values_;
  Values of_two_;  // the values for a batch of 2; empty where the file states the batch, or runs at 1 only
  const std::string& origin_;
  Constants constants_;
  Import import_;
  std::unordered_map<std::string, Held> held_;
  std::unordered_map<std::string, std::vector<size_t>> readers_;  // of a value: needed nodes
  std::vector<bool> needed_;                                      // by node: the output depends on it
  UniqueNames names_;
  int64_t batch_ = 1;            // the first dimension of the model's input
  int64_t room_ = 0;             // weights that layers may still take
  size_t at_ = 0;                // the node that is taken
  const char* type_ = kNothing;  // of the layer that it became
};

}  // namespace lenslet::onnx
