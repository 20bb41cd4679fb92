// Local response normalisation over channels (A. Krizhevsky, I. Sutskever, G. Hinton: ImageNet classification with deep
// convolutional neural networks, 2012, section 3.3), as ONNX's LRN:
//   y[c] = x[c] / (bias + alpha / size * sum of x[k]^2)^beta, k from c - (size - 1) / 2 to c + size / 2, within the
// channels of [N, C, sizes].
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// Each value divided by a power of the sum of squares of its neighbouring channels.
class LrnLayer : public Layer {
 public:
  /// `size` channels in a window. Throws DataError for a size below 1 or a bias that is not positive.
  LrnLayer(int64_t size, float alpha, float beta, float bias);
  std::string_view type() const override { return "lrn"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// Two operations per value of a window, and a power.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  int64_t size() const noexcept { return size_; }  ///< Channels in a window.
  float alpha() const noexcept { return alpha_; }  ///< Factor of the mean square over `size` channels.
  float beta() const noexcept { return beta_; }    ///< Exponent of the divisor.
  float bias() const noexcept { return bias_; }    ///< Added before the power; positive.

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;

  int64_t size_;
  float alpha_, beta_, bias_;
};

}  // namespace lenslet
