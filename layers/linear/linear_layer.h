// Linear (fully connected): y[v, o] = b[o] + sum over i of w[o, i] * x[v, i] for every vector v of I values.
//
// A vector is a sample: x [N, ...], flattened in storage order (C, H, W), y [N, O]; or each row of the last dimension:
// x [N, ..., I], y [N, ..., O]. w [O, I], b [O]; all fp32, x and y between layers perhaps fp16.
#pragma once

#include "framework/graph/layer.h"
#include "layers/linear/linear_backend.h"

namespace lenslet {

/// The vectors of an input [N, ...]: its samples, or the rows of its last dimension.
enum class LinearVectors { kSamples, kRows };

/// A fully connected layer with its weights.
class LinearLayer : public Layer {
 public:
  /// weights [O, I]; bias [O] or empty. Host tensors. Throws DataError on a mismatch.
  LinearLayer(Tensor weights, Tensor bias, LinearVectors vectors = LinearVectors::kSamples);

  std::string_view type() const override { return "linear"; }
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  bool uses_math() const override { return true; }
  /// 2 * O * I operations a vector.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  /// [O, I].
  const Tensor& weights() const noexcept { return weights_; }
  /// [O], or empty without a bias.
  const Tensor& bias() const noexcept { return bias_; }
  /// An input of that shape as [vectors, I]. Throws DataError if it does not fit the weights.
  Shape as_vectors(const Shape& input) const;

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override;
  bool do_suits(const BackendEntry& backend, const OperatorRequest& request) const override;
  Determinism do_determinism(const BackendEntry& backend, const OperatorRequest& request) const override;
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;
  bool stores_fp16() const override { return true; }
  LinearProblem problem_for(const OperatorRequest& request) const;

  Tensor weights_, bias_;
  LinearVectors vectors_;
};

}  // namespace lenslet
