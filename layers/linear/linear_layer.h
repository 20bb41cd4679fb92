// Linear (fully connected): y[n, o] = b[o] + sum over i of w[o, i] * x[n, i].
//
// x [N, ...] with I values per sample, flattened in storage order (C, H, W); w [O, I], b [O],
// y [N, O]; all fp32.
#pragma once

#include "framework/graph/layer.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {

/// A fully connected layer with its weights.
class LinearLayer : public Layer {
 public:
  /// weights [O, I]; bias [O] or empty. Host tensors. Throws DataError on a mismatch.
  LinearLayer(Tensor weights, Tensor bias);

  std::string_view type() const override { return "linear"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  bool uses_math() const override { return true; }
  /// 2 * N * O * I operations.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  /// [O, I].
  const Tensor& weights() const noexcept { return weights_; }
  /// [O].
  const Tensor& bias() const noexcept { return bias_; }

 private:
  Support check(const BackendEntry& backend, const OperatorRequest& request) const override;
  bool is_suited(const BackendEntry& backend, const OperatorRequest& request) const override;
  Determinism promise(const BackendEntry& backend, const OperatorRequest& request) const override;
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
  LinearProblem problem_for(const OperatorRequest& request) const;

  Tensor weights_, bias_;
};

}  // namespace lenslet
