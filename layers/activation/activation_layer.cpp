#include "layers/activation/activation_layer.h"

#include "framework/base/error.h"
#include "layers/activation/activation_backend.h"
#include "layers/function_operator.h"

namespace lenslet {

std::string ActivationLayer::describe() const {
  std::string text = function_name();
  if (a_ != 0 || b_ != 0) text += concat(" ", a_, " ", b_);
  return text;
}

Shape ActivationLayer::infer_shape(const std::vector<Shape>& inputs) const { return only_input(inputs); }

Work ActivationLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {static_cast<double>(y.num_elements()), 2.0 * static_cast<double>(y.bytes())};
}

std::vector<const BackendEntry*> ActivationLayer::backend_entries(DeviceKind kind) const {
  return activation_table().entry_pointers(kind);
}

std::unique_ptr<Operator> ActivationLayer::make_operator(const BackendEntry& backend,
                                                         const OperatorRequest& request,
                                                         Stream& /*stream*/) const {
  return function_operator<ActivationBackend>(
      backend, ActivationProblem{function_, a_, b_, request.output.num_elements()});
}

}  // namespace lenslet
