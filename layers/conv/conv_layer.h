// Conv2d: a convolution layer, computed by any backend of the registry.
#pragma once

#include "framework/layer.h"
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
  std::vector<std::string> backends(DeviceKind kind) const override;
  Support supports(const std::string& backend, const OperatorRequest& request) const override;
  Determinism determinism(const std::string& backend, const OperatorRequest& request) const override;
  std::unique_ptr<Operator> prepare(const std::string& backend, const OperatorRequest& request,
                                    Stream& stream) const override;
  bool can_fuse_relu(const std::string& backend, DeviceKind kind) const override;
  Support can_fuse_max_pool(const std::string& backend, const OperatorRequest& request,
                            const Pool2dWindow& window) const override;
  bool suits_max_pool(const std::string& backend, const OperatorRequest& request,
                      const Pool2dWindow& window) const override;
  /// This layer's problem for one input shape [N, C, H, W].
  Conv2dProblem problem_for(const Shape& input) const;
  /// [K, C/G, R, S].
  const Tensor& weights() const noexcept { return weights_; }
  /// [K].
  const Tensor& bias() const noexcept { return bias_; }

 private:
  Conv2dProblem geometry_;
  Tensor weights_, bias_;
};

}  // namespace lenslet
