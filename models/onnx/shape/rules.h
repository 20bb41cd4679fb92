// Internal: one rule per operator for the shape of its output.
#pragma once

#include <string>
#include <vector>

#include "models/onnx/shape/shapes.h"

namespace lenslet::onnx {

/// One node while its outputs are inferred.
class Inference {
 public:
  Inference(const Node& node, int64_t opset, const std::string& origin, Values& values)
      : node_(node), opset_(opset), origin_(origin), values_(values) {}

  const Node& node() const { return node_; }  ///< The node.
  int64_t opset() const { return opset_; }    ///< Version of the operator set.
  /// Whether the node has input `i`.
  bool has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Input `i`, which the node must have.
  const Value& input(size_t i) const;
  /// The shape of input `i`. Throws Unknown if it is unknown.
  const Shape& shape(size_t i) const;
  /// The values of input `i`. Throws Unknown if they are unknown.
  const std::vector<int64_t>& integers(size_t i) const;
  /// The list of an attribute, which became input `i` in a later operator set; `fallback` without either.
  std::vector<int64_t> attribute_or_input(const char* attribute, size_t i,
                                          std::vector<int64_t> fallback) const;
  /// Sets the shape of the first output.
  void set(const std::vector<int64_t>& dims) { set_output(0, dims); }
  /// Sets the shape of an output, which the node must have.
  void set_output(size_t output, const std::vector<int64_t>& dims);
  /// Sets its values too.
  void set(const std::vector<int64_t>& dims, std::vector<int64_t> integers);
  /// An axis counted from either end, within 0..rank - 1.
  int axis(int64_t axis, int rank) const;
  /// Throws DataError unless there are `count` values from `min_value` to `max_value`.
  void check_integers(const std::vector<int64_t>& values, size_t count, int64_t min_value, int64_t max_value,
                      const char* what) const;
  [[noreturn]] void fail(const std::string& what) const;  ///< Throws DataError with the node's name.

  /// Thrown where the inputs are unknown, so that the outputs are too.
  struct Unknown {};

 private:
  const Node& node_;
  int64_t opset_;
  const std::string& origin_;
  Values& values_;
};

using ShapeRule = void (*)(Inference&);
/// Null for an operator without a rule.
ShapeRule layer_rule(const std::string& op);      // convolutions, pooling, products, element by element
ShapeRule reshaping_rule(const std::string& op);  // operators that move values or compute shapes

/// Pads of `axes`, counted from either end, as those of all dimensions; the rule of Pad checks both.
std::vector<int64_t> pads_of_all(const std::vector<int64_t>& pads, const std::vector<int64_t>& axes,
                                 int rank);
/// NumPy's broadcasting. Throws through `inference` if the shapes do not fit.
std::vector<int64_t> broadcast(const Shape& a, const Shape& b, const Inference& inference);

}  // namespace lenslet::onnx
