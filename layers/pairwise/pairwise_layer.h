// Pairwise functions: y = f(a, b) of two tensors, or of one and a constant, with NumPy's broadcasting: a size of 1
// repeats. All have the batch as their first dimension, a constant has 1 there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/layer.h"
#include "layers/pairwise/pairwise_functions.h"

namespace lenslet {

/// One function of pairwise_functions.h.
class PairwiseLayer : public Layer {
 public:
  /// A function of two inputs of the same rank.
  explicit PairwiseLayer(Pairwise function) : function_(function) {}
  /// A function of an input and a constant in host memory, whose dimensions are the last ones of the input's: the
  /// numbers of channels are [C, 1, 1]. `constant_first`: f(constant, input). Throws DataError for a constant without
  /// values.
  PairwiseLayer(Pairwise function, Tensor constant, bool constant_first = false);

  std::string_view type() const override { return "pairwise"; }
  /// "add", "mul by a constant 6x1x1".
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// One operation an output.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  Pairwise function() const noexcept { return function_; }  ///< Takes both operands in order.
  /// The name of function(): "add".
  const char* function_name() const noexcept { return kPairwiseNames[static_cast<int>(function_)]; }
  /// Null for two inputs.
  const Tensor* constant() const noexcept { return constant_ ? &*constant_ : nullptr; }
  /// Whether the constant is the first operand.
  bool constant_first() const noexcept { return constant_first_; }

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override;
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
  std::vector<Shape> operands(const std::vector<Shape>& inputs) const;

  Pairwise function_;
  std::optional<Tensor> constant_;
  bool constant_first_ = false;
};

}  // namespace lenslet
