#include "layers/relu/relu_layer.h"

#include "framework/error.h"
#include "layers/built_for.h"
#include "layers/relu/relu_kernels.h"

namespace lenslet {
namespace {

class ReluOperator : public Operator {
 public:
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    const int64_t count = output.shape.num_elements();
#ifdef LENSLET_HAS_CUDA
    if (output.device.is_cuda()) {
      relu_direct_gpu(inputs[0].data, output.data, count, context.stream.native_handle());
      return;
    }
#endif
    (void)context;
    relu_direct_cpu(inputs[0].data, output.data, count);
  }
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

std::vector<std::string> ReluLayer::backends(DeviceKind /*kind*/) const { return {"direct"}; }

Support ReluLayer::supports(const std::string& backend, const OperatorRequest& request) const {
  const Support listed = lists(backend, request.device.kind);
  if (!listed) return listed;
  if (request.fuse_relu || request.fuse_max_pool) return Support::no("relu fuses nothing");
  return built_for(request.device);
}

std::unique_ptr<Operator> ReluLayer::prepare(const std::string& backend, const OperatorRequest& request,
                                             Stream& /*stream*/) const {
  const Support support = supports(backend, request);
  if (!support) throw UnavailableError(support.reason());
  infer_shape(request.inputs);
  return std::make_unique<ReluOperator>();
}

}  // namespace lenslet
