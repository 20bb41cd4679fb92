// Internal: constant values that layers take from a graph: initializers, and what nodes compute from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/onnx/shape/shapes.h"

namespace lenslet::onnx {

/// Thrown where a node or a constant is valid, but Lenslet cannot run it.
struct Unsupported {
  std::string reason;  // "weights of int64"
};

/// A node as a message shows it: `Conv "conv1"`.
std::string described(const Node& node);

/// Whether it is a Dropout in training: its third input is there and is not a constant false.
bool drops_values(const Node& node, const Values& values);

/// The values of [dims] in the order of axes `order`, as Transpose moves them.
std::vector<float> transposed(const std::vector<float>& values, const std::vector<int64_t>& dims,
                              const std::vector<int64_t>& order);

/// What a Transpose does to samples of [dims], the batch in front.
struct Transposition {
  std::vector<int64_t> dims, order;  // order[i]: the dimension that becomes dimension i

  /// What a Transpose that reads `x` does.
  static Transposition of(const Node& node, const Shape& x);
  /// Whether the batch stays in front.
  bool keeps_batch() const { return !order.empty() && order[0] == 0; }
  /// Whether a value gets another place: dimensions of 1 may move anywhere without moving one.
  bool moves_values() const;
  /// `weights` [rows, values] multiply transposed samples. Returns those that give the same products with the samples
  /// as they are before the Transpose.
  std::vector<float> undone(const std::vector<float>& weights, int64_t rows) const;
};

inline constexpr const char* kComputedWeights = "LENSLET_MAX_COMPUTED_WEIGHTS";
/// The value of that variable: how many values nodes may compute, and layers may take besides those of the file.
/// nullopt if it is not set. Throws UsageError for anything but a number.
std::optional<int64_t> computed_weights_setting();

/// Computes constants at their first use, in fp32. A small file that lets nodes compute large constants is refused
/// after kMaxComputed values, or as many as computed_weights_setting() allows.
class Constants {
 public:
  static constexpr int64_t kMaxComputed = 1 << 24;  // values of all nodes, besides those of the file
  static constexpr int kMaxDepth = 64;  // between a constant and the value that it is computed from

  /// All three must outlive this.
  Constants(const Model& model, const Values& values, const std::string& origin);
  /// The values of a constant in C order, whole numbers as fp32. Throws Unsupported if a node has no rule here or its
  /// result is not finite.
  std::vector<float> floats(const std::string& name) { return value(name, 0); }
  /// The shape of a constant. Throws Unsupported if it is unknown.
  const Shape& shape(const std::string& name) const;

 private:
  std::vector<float> value(const std::string& name, int depth);
  std::vector<float> computed(const Node& node, int depth);
  std::vector<float> combined(const Node& node, int depth);
  bool is_whole(const std::string& name, int depth) const;
  std::vector<float> broadcast(const std::vector<float>& values, const Shape& from, const Shape& to) const;
  void book(int64_t count);

  const Model& model_;
  const Values& values_;
  const std::string& origin_;
  std::unordered_map<std::string, const Node*> producers_;
  const int64_t max_computed_;
  int64_t left_ = max_computed_;
};

}  // namespace lenslet::onnx
