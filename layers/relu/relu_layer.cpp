#include "layers/relu/relu_layer.h"

#include "layers/function_operator.h"
#include "layers/relu/relu_backend.h"

namespace lenslet {

Shape ReluLayer::infer_shape(const std::vector<Shape>& inputs) const { return only_input(inputs); }

Work ReluLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {static_cast<double>(y.num_elements()), 2.0 * static_cast<double>(y.bytes())};
}

std::vector<const BackendEntry*> ReluLayer::backend_entries(DeviceKind kind) const {
  return relu_table().entry_pointers(kind);
}

std::unique_ptr<Operator> ReluLayer::make_operator(const BackendEntry& backend,
                                                   const OperatorRequest& request, Stream& /*stream*/) const {
  return function_operator<ReluBackend>(backend, ReluProblem{request.output.num_elements()});
}

}  // namespace lenslet
