// Internal: shapes of every value of a graph for one sample, and the whole numbers that shapes are computed from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/tensor/shape.h"
#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// What is known of a value before anything runs.
struct Value {
  std::optional<Shape> shape;
  /// The values, if they are few whole numbers that do not depend on data.
  std::optional<std::vector<int64_t>> integers;
  bool is_constant = false;  // depends on no input of the graph
  int64_t parameters = 0;    // of a constant: the floating values that it is made of
};

/// An axis or an index among `size`, which a node may count from the end by a negative number.
inline int64_t from_front(int64_t stated, int64_t size) { return stated < 0 ? stated + size : stated; }

using Values = std::unordered_map<std::string, Value>;

/// The values of the initializers and inputs, before any node. A free first dimension of an input becomes `batch`.
Values initial_values(const Model& model, const std::string& origin, int64_t batch);

/// Infers the outputs of one node, whose inputs must be among `values`.
void infer_node(const Node& node, int64_t opset, const std::string& origin, Values& values);

/// Infers in the order of the nodes. A free first dimension of an input becomes `batch`. The outputs of operators
/// without a rule have no shape, nor has what depends on them. Throws DataError, with the node's name, for shapes
/// that do not fit each other and for outputs of more than 2^31 - 1 values.
Values infer_values(const Model& model, const std::string& origin, int64_t batch = 1);

/// Like infer_values(), for a batch of 2: a first dimension that is the batch becomes 2, one that is always 1 stays 1.
/// Empty if the file states the batch of its first input, or can run at a batch of 1 only.
Values infer_values_of_two(const Model& model, const std::string& origin);

}  // namespace lenslet::onnx
