// Activations: y = f(x; a, b), element by element, any shape. ReLU is a layer of its own, because others fuse it.
#pragma once

#include <string>

#include "framework/graph/layer.h"
#include "layers/activation/activation_functions.h"

namespace lenslet {

/// One function of activation_functions.h with its parameters; NaN stays.
class ActivationLayer : public Layer {
 public:
  /// Parameters that the function lacks are ignored.
  explicit ActivationLayer(Activation function, float a = 0, float b = 0)
      : function_(function), a_(a), b_(b) {}
  std::string_view type() const override { return "activation"; }
  /// The name of the function and, unless both are 0, its parameters: "leaky_relu 0.01 0".
  std::string describe() const override;
  Shape infer_shape(const std::vector<Shape>& inputs) const override;
  /// One operation an element.
  Work work(const std::vector<Shape>& inputs) const override;
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override;
  /// What the layer computes of each element.
  Activation function() const noexcept { return function_; }
  /// The name of function(): "leaky_relu".
  const char* function_name() const noexcept { return kActivationNames[static_cast<int>(function_)]; }
  float a() const noexcept { return a_; }  ///< As in f(x; a, b).
  float b() const noexcept { return b_; }  ///< As in f(x; a, b).

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override;

  Activation function_;
  float a_, b_;
};

}  // namespace lenslet
