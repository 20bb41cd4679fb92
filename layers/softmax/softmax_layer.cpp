#include "layers/softmax/softmax_layer.h"

#include "framework/base/error.h"
#include "layers/softmax/softmax_backend.h"

namespace lenslet {
namespace {

class SoftmaxOperator : public Operator {
 public:
  explicit SoftmaxOperator(const SoftmaxBackend& backend) : backend_(backend) {}
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const int64_t classes = output.shape[-1];
    const int64_t rows = classes == 0 ? 0 : output.shape.num_elements() / classes;
    backend_.run(inputs[0].data, output.data, rows, classes, context.stream);
  }

 private:
  const SoftmaxBackend& backend_;
};

}  // namespace

Shape SoftmaxLayer::infer_shape(const std::vector<Shape>& inputs) const {
  if (inputs.size() != 1) throw DataError(concat("softmax has one input, found ", inputs.size()));
  if (inputs[0].rank() < 1)
    throw DataError("softmax expected an input with at least one dimension, found a scalar");
  return inputs[0];
}

Work SoftmaxLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {4.0 * static_cast<double>(y.num_elements()), 2.0 * static_cast<double>(y.bytes())};
}

std::vector<const BackendEntry*> SoftmaxLayer::backend_entries(DeviceKind kind) const {
  return softmax_table().entries(kind);
}

std::unique_ptr<Operator> SoftmaxLayer::make_operator(const BackendEntry& backend,
                                                      const OperatorRequest& /*request*/,
                                                      Stream& /*stream*/) const {
  return std::make_unique<SoftmaxOperator>(
      static_cast<const BackendEntryOf<SoftmaxBackend>&>(backend).open());
}

}  // namespace lenslet
