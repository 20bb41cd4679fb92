// Conv2d: a convolution layer, computed by any backend of the registry.
#pragma once

#include "framework/graph/layer.h"
#include "layers/conv/conv_problem.h"

namespace lenslet {

/// A convolution with its weights; the registry's backends compute it.
class Conv2dLayer : public Layer {
 public:
  /// `geometry` gives K, R, S, stride, pad, dilation and groups (its n, h and w are ignored, its c must match
  /// the weights). weights [K, C/G, R, S]; bias [K] or empty. Host tensors. Throws DataError on a mismatch.
  Conv2dLayer(Conv2dProblem geometry, Tensor weights, Tensor bias);

  std::string_view type() const override { return "conv2d"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  bool uses_math() const override { return true; }
  /// Operations of the direct algorithm.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  /// This layer's problem for one input shape [N, C, H, W].
  Conv2dProblem problem_for(const Shape& input) const;
  /// [K, C/G, R, S].
  const Tensor& weights() const noexcept { return weights_; }
  /// [K], or empty without a bias.
  const Tensor& bias() const noexcept { return bias_; }

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override;
  bool do_suits(const BackendEntry& backend, const OperatorRequest& request) const override;
  Determinism do_determinism(const BackendEntry& backend, const OperatorRequest& request) const override;
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
  bool stores_fp16() const override { return true; }

  Conv2dProblem geometry_;
  Tensor weights_, bias_;
};

}  // namespace lenslet
