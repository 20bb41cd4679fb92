#include "layers/lrn/lrn_layer.h"

#include "framework/base/error.h"
#include "layers/function_operator.h"
#include "layers/lrn/lrn_backend.h"

namespace lenslet {

LrnLayer::LrnLayer(int64_t size, float alpha, float beta, float bias)
    : size_(size), alpha_(alpha), beta_(beta), bias_(bias) {
  if (size < 1 || !(bias > 0) || !(alpha >= 0))
    throw DataError(
        concat("lrn expected a size of at least 1, a positive bias and no negative alpha, found size ", size,
               ", bias ", bias, ", alpha ", alpha));
}

std::string LrnLayer::describe() const {
  return concat(size_, " channels, alpha ", alpha_, ", beta ", beta_, ", bias ", bias_);
}

Shape LrnLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = only_input(inputs);
  if (x.rank() < 2) throw DataError(concat("lrn expected an input [N, C, sizes], found ", x.to_string()));
  return x;
}

Work LrnLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {static_cast<double>(y.num_elements()) * static_cast<double>(2 * size_ + 3),
          2.0 * static_cast<double>(y.bytes())};
}

std::vector<const BackendEntry*> LrnLayer::backend_entries(DeviceKind kind) const {
  return lrn_table().entry_pointers(kind);
}

std::unique_ptr<Operator> LrnLayer::make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                                  Stream& /*stream*/) const {
  const Shape& x = request.inputs[0];
  LrnProblem problem;
  problem.samples = x[0];
  problem.channels = x[1];
  problem.inner = x.num_elements() / (x[0] * x[1]);
  problem.before = (size_ - 1) / 2;
  problem.after = size_ / 2;
  problem.scale = alpha_ / static_cast<float>(size_);
  problem.beta = beta_;
  problem.bias = bias_;
  return function_operator<LrnBackend>(backend, problem);
}

}  // namespace lenslet
