#include "layers/relu/relu_layer.h"

#include "framework/base/error.h"
#include "layers/relu/relu_backend.h"

namespace lenslet {
namespace {

class ReluOperator : public Operator {
 public:
  explicit ReluOperator(const ReluBackend& backend) : backend_(backend) {}
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const int64_t count = output.shape.num_elements();
    backend_.run(inputs[0].data, output.data, count, context.stream);
  }

 private:
  const ReluBackend& backend_;
};

}  // namespace

Shape ReluLayer::infer_shape(const std::vector<Shape>& inputs) const {
  if (inputs.size() != 1) throw DataError(concat("relu has one input, found ", inputs.size()));
  return inputs[0];
}

Work ReluLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {static_cast<double>(y.num_elements()), 2.0 * static_cast<double>(y.bytes())};
}

std::vector<const BackendEntry*> ReluLayer::backend_entries(DeviceKind kind) const {
  return relu_table().entries(kind);
}

std::unique_ptr<Operator> ReluLayer::make_operator(const BackendEntry& backend,
                                                   const OperatorRequest& /*request*/,
                                                   Stream& /*stream*/) const {
  return std::make_unique<ReluOperator>(static_cast<const BackendEntryOf<ReluBackend>&>(backend).open());
}

}  // namespace lenslet
