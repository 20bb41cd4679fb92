// Softmax over one dimension: y[i] = exp(x[i] - m) / sum over j of exp(x[j] - m), m = max over j of x[j], so that no
// exponential overflows; or its logarithm, x[i] - m - log(sum). A row that contains a NaN, or only -infinity, becomes
// NaN.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/layer.h"

namespace lenslet {

/// Probabilities over one dimension, or their logarithms.
class SoftmaxLayer : public Layer {
 public:
  /// `axis` counts from the front, or with -1 from the back.
  explicit SoftmaxLayer(int axis = -1, bool logarithms = false) : axis_(axis), logarithms_(logarithms) {}
  std::string_view type() const override { return "softmax"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// Four operations a value: maximum, exponential, sum, division.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  int axis() const noexcept { return axis_; }               ///< From the front, or -1: the last.
  bool logarithms() const noexcept { return logarithms_; }  ///< Whether the output is log-probabilities.

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;

  int axis_;
  bool logarithms_;
};

}  // namespace lenslet
