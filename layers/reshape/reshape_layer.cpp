#include "layers/reshape/reshape_layer.h"

#include "framework/base/error.h"
#include "layers/reshape/reshape_backend.h"

namespace lenslet {
namespace {

class ReshapeOperator : public Operator {
 public:
  explicit ReshapeOperator(const ReshapeBackend& backend) : backend_(backend) {}
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    backend_.run(inputs[0].data, output.data, output.shape.num_elements(), context.stream);
  }

 private:
  const ReshapeBackend& backend_;
};

}  // namespace

std::string ReshapeLayer::describe() const { return "to " + sample_.to_string(); }

Shape ReshapeLayer::infer_shape(const std::vector<Shape>& inputs) const {
  if (inputs.size() != 1) throw DataError(concat("reshape has one input, found ", inputs.size()));
  const Shape& x = inputs[0];
  if (x.rank() < 1 || sample_.rank() >= Shape::kMaxRank ||
      x.num_elements() != x[0] * sample_.num_elements()) {
    throw DataError(concat("reshape to ", sample_.to_string(), " expected an input [N, ...] with ",
                           sample_.num_elements(), " values per sample, found ", x.to_string()));
  }
  std::vector<int64_t> dims = {x[0]};
  for (int i = 0; i < sample_.rank(); ++i) dims.push_back(sample_[i]);
  return Shape(dims.data(), static_cast<int>(dims.size()));
}

Work ReshapeLayer::work(const std::vector<Shape>& inputs) const {
  return {0, 2.0 * static_cast<double>(infer_shape(inputs).bytes())};
}

std::vector<const BackendEntry*> ReshapeLayer::backend_entries(DeviceKind kind) const {
  return reshape_table().entries(kind);
}

std::unique_ptr<Operator> ReshapeLayer::make_operator(const BackendEntry& backend,
                                                      const OperatorRequest& /*request*/,
                                                      Stream& /*stream*/) const {
  return std::make_unique<ReshapeOperator>(
      static_cast<const BackendEntryOf<ReshapeBackend>&>(backend).open());
}

}  // namespace lenslet
