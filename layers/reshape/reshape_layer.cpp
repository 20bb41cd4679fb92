#include "layers/reshape/reshape_layer.h"

#include "framework/base/error.h"
#include "layers/function_operator.h"
#include "layers/reshape/reshape_backend.h"

namespace lenslet {

std::string ReshapeLayer::describe() const { return "to " + sample_.to_string(); }

Shape ReshapeLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = only_input(inputs);
  if (x.rank() < 1 || sample_.rank() >= Shape::kMaxRank ||
      x.num_elements() != x[0] * sample_.num_elements()) {
    throw DataError(concat("reshape to ", sample_.to_string(), " expected an input [N, ...] with ",
                           sample_.num_elements(), " values per sample, found ", x.to_string()));
  }
  return sample_.batch_of(x[0]);
}

Work ReshapeLayer::work(const std::vector<Shape>& inputs) const {
  return {0, 2.0 * static_cast<double>(infer_shape(inputs).bytes())};
}

std::vector<const BackendEntry*> ReshapeLayer::backend_entries(DeviceKind kind) const {
  return reshape_table().entry_pointers(kind);
}

std::unique_ptr<Operator> ReshapeLayer::make_operator(const BackendEntry& backend,
                                                      const OperatorRequest& request,
                                                      Stream& /*stream*/) const {
  return function_operator<ReshapeBackend>(backend, ReshapeProblem{request.output.num_elements()});
}

}  // namespace lenslet
