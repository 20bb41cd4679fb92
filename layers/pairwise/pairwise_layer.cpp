#include "layers/pairwise/pairwise_layer.h"

#include <algorithm>

#include "framework/base/error.h"
#include "layers/fusion/fusion.h"
#include "layers/pairwise/pairwise_backend.h"

namespace lenslet {
namespace {

class PairwiseOperator : public Operator {
 public:
  PairwiseOperator(const PairwiseBackend& backend, const PairwiseProblem& problem)
      : backend_(backend), problem_(problem) {}
  void keep(const Tensor& constant, bool first, Stream& stream) {
    constant_ = Buffer(stream.device(), constant.shape().bytes());
    copy_bytes(constant_.data(), stream.device(), constant.data(), Device::cpu(), constant_.bytes(), stream);
    constant_first_ = first;
  }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const float* const other = constant_.bytes() > 0 ? constant_.as<float>() : inputs[1].data;
    const float* a = inputs[0].data;
    const float* b = other;
    if (constant_first_) std::swap(a, b);
    backend_.run(problem_, a, b, output.data, context.stream);
  }

 private:
  const PairwiseBackend& backend_;
  PairwiseProblem problem_;
  Buffer constant_;
  bool constant_first_ = false;
};

// With leading dimensions of 1.
Shape of_rank(const Shape& shape, int rank) {
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  for (int i = 1; i <= shape.rank(); ++i) dims[static_cast<size_t>(rank - i)] = shape[-i];
  return Shape(dims.data(), rank);
}

StridedPair places_of(const std::vector<Shape>& operands, const Shape& y) {
  int64_t strides[2][Shape::kMaxRank] = {};
  for (int k = 0; k < 2; ++k) {
    int64_t stride = 1;
    for (int i = y.rank(); i-- > 0;) {
      const int64_t size = operands[static_cast<size_t>(k)][i];
      strides[k][i] = size == 1 ? 0 : stride;
      stride *= size;
    }
  }
  StridedPair places;
  for (int i = 0; i < y.rank(); ++i) places.append(y[i], strides[0][i], strides[1][i]);
  return places;
}

}  // namespace

PairwiseLayer::PairwiseLayer(Pairwise function, Tensor constant, bool constant_first)
    : function_(function), constant_(std::move(constant)), constant_first_(constant_first) {
  if (constant_->shape().num_elements() < 1 || !constant_->data() || constant_->device().is_cuda())
    throw DataError(concat(this->function_name(), " expected a constant with values in host memory, found ",
                           constant_->shape().to_string()));
}

std::string PairwiseLayer::describe() const {
  if (!constant_) return function_name();
  const std::string constant = concat("a constant ", constant_->shape().to_string());
  return constant_first_ ? concat(function_name(), " of ", constant, " and the input")
                         : concat(function_name(), " by ", constant);
}

// Both operands in the order of the function and of the same rank.
std::vector<Shape> PairwiseLayer::operands(const std::vector<Shape>& inputs) const {
  const size_t wanted = constant_ ? 1 : 2;
  if (inputs.size() != wanted)
    throw DataError(concat(function_name(), " has ", wanted, " inputs, found ", inputs.size()));
  if (!constant_) return inputs;
  const Shape& x = inputs[0];
  if (x.rank() < constant_->shape().rank() ||
      (x.rank() == constant_->shape().rank() && constant_->shape()[0] != 1))
    throw DataError(concat(function_name(), " of ", x.to_string(), " and a constant ",
                           constant_->shape().to_string(), ", which would mix or count samples"));
  std::vector<Shape> both = {x, of_rank(constant_->shape(), x.rank())};
  if (constant_first_) std::swap(both[0], both[1]);
  return both;
}

Shape PairwiseLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const std::vector<Shape> both = operands(inputs);
  const Shape &a = both[0], &b = both[1];
  const auto fail = [&] {
    throw DataError(concat(function_name(), " of ", a.to_string(), " and ", b.to_string(),
                           ": expected the same samples, and in every dimension the same size or 1"));
  };
  if (a.rank() != b.rank() || a.rank() < 1 || (!constant_ && a[0] != b[0])) fail();
  std::vector<int64_t> dims;
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) fail();
    dims.push_back(a[i] == 1 ? b[i] : a[i]);
  }
  return Shape(dims.data(), a.rank());
}

Work PairwiseLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  double bytes = static_cast<double>(y.bytes());
  for (const Shape& operand : operands(inputs)) bytes += static_cast<double>(operand.bytes());
  return {static_cast<double>(y.num_elements()), bytes};
}

std::vector<const BackendEntry*> PairwiseLayer::backend_entries(DeviceKind kind) const {
  return pairwise_table().entry_pointers(kind);
}

Support PairwiseLayer::do_supports(const BackendEntry& backend, const OperatorRequest& request) const {
  const Fusion fusion = read_fusion(request.fused);
  if (!fusion.support) return fusion.support;
  if (fusion.max_pool) return Support::no(concat("pairwise fuses no max pooling", kLeaveUnfused));
  return backend.available();
}

std::unique_ptr<Operator> PairwiseLayer::make_operator(const BackendEntry& backend,
                                                       const OperatorRequest& request, Stream& stream) const {
  PairwiseProblem problem;
  problem.function = function_;
  problem.after = read_fusion(request.fused).rectifier;
  problem.places = places_of(operands(request.inputs), infer_shape(request.inputs));
  auto made = std::make_unique<PairwiseOperator>(
      static_cast<const BackendEntryOf<PairwiseBackend>&>(backend).open(), problem);
  if (constant_) made->keep(*constant_, constant_first_, stream);
  return made;
}

}  // namespace lenslet
