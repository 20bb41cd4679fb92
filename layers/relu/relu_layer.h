// ReLU: y = max(x, 0), any shape. A NaN stays a NaN.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// Max(x, 0), element by element; NaN stays.
class ReluLayer : public Layer {
 public:
  std::string_view type() const override { return "relu"; }
  std::string describe() const override { return "max(x, 0)"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// One operation an element.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
};

}  // namespace lenslet
