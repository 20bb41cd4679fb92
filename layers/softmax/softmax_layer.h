// Softmax over the last dimension: y[i] = exp(x[i] - m) / sum over j of exp(x[j] - m), m = max over j of
// x[j], so that no exponential overflows. A row that contains a NaN, or only -infinity, becomes NaN.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// Probabilities over the last dimension.
class SoftmaxLayer : public Layer {
 public:
  std::string_view type() const override { return "softmax"; }
  std::string describe() const override { return "over the last dimension"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// Four operations a value: maximum, exponential, sum, division.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
};

}  // namespace lenslet
