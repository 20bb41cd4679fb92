// ReLU: y = max(x, 0), any shape. A NaN stays a NaN.
#pragma once

#include "framework/layer.h"

namespace lenslet {

/// Max(x, 0), element by element; NaN stays.
class ReluLayer : public Layer {
 public:
  std::string_view type() const override { return "relu"; }
  std::string describe() const override { return "max(x, 0)"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// One operation an element.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<std::string> backends(DeviceKind kind) const override;
  Support supports(const std::string& backend, const OperatorRequest& request) const override;
  std::unique_ptr<Operator> prepare(const std::string& backend, const OperatorRequest& request,
                                    Stream& stream) const override;
  bool is_relu() const override { return true; }
};

}  // namespace lenslet
