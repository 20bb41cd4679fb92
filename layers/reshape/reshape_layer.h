// Reshape: the values of each sample in another shape. They keep their order, so it is a copy.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// The same values, as samples of another shape.
class ReshapeLayer : public Layer {
 public:
  /// `sample` is the shape of one sample of the output, without the batch.
  explicit ReshapeLayer(Shape sample) : sample_(sample) {}
  std::string_view type() const override { return "reshape"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// No operations.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;

  Shape sample_;
};

}  // namespace lenslet
