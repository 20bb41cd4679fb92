#include "layers/softmax/softmax_layer.h"

#include "framework/base/error.h"
#include "layers/function_operator.h"
#include "layers/softmax/softmax_backend.h"

namespace lenslet {

std::string SoftmaxLayer::describe() const {
  const std::string where = axis_ == -1 ? "the last dimension" : concat("dimension ", axis_);
  return concat(logarithms_ ? "logarithms, " : "", "over ", where);
}

Shape SoftmaxLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = only_input(inputs);
  if (x.rank() < 1) throw DataError("softmax expected an input with at least one dimension, found a scalar");
  if (axis_ < -1 || axis_ >= x.rank())
    throw DataError(concat("softmax over dimension ", axis_, " of ", x.to_string()));
  return x;
}

Work SoftmaxLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {4.0 * static_cast<double>(y.num_elements()), 2.0 * static_cast<double>(y.bytes())};
}

std::vector<const BackendEntry*> SoftmaxLayer::backend_entries(DeviceKind kind) const {
  return softmax_table().entry_pointers(kind);
}

std::unique_ptr<Operator> SoftmaxLayer::make_operator(const BackendEntry& backend,
                                                      const OperatorRequest& request,
                                                      Stream& /*stream*/) const {
  const Shape& x = request.inputs[0];
  const int axis = axis_ < 0 ? x.rank() - 1 : axis_;
  SoftmaxProblem problem;
  problem.classes = x[axis];
  problem.logarithms = logarithms_;
  for (int i = axis + 1; i < x.rank(); ++i) problem.inner *= x[i];
  const int64_t row = problem.classes * problem.inner;
  problem.outer = row == 0 ? 0 : x.num_elements() / row;
  return function_operator<SoftmaxBackend>(backend, problem);
}

}  // namespace lenslet
