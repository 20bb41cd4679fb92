// Linear on the GPU as one product by cuBLAS: Y [N, O] = X [N, I] * W [O, I]^T; bias and ReLU follow in one pass over
// Y.
#include "layers/gemm/gpu/bias_rectifier.h"
#include "layers/gemm/gpu/cublas_workspace.h"
#include "layers/linear/linear_product.h"

namespace lenslet {
namespace {

class CublasOperator : public Operator {
 public:
  CublasOperator(const LinearProblem& problem, Stream& stream)
      : relu_(problem.relu),
        weights_(Shape{problem.outputs, problem.inputs}, stream.device()),
        bias_(Shape{problem.bias ? problem.outputs : 0}, stream.device()),
        product_(product_of(problem)),
        gemm_(gemm_backend(DeviceKind::kCuda).prepare(problem.math, stream)) {
    copy_bytes(weights_.data(), stream.device(), problem.weights, Device::cpu(), weights_.shape().bytes(),
               stream);
    if (problem.bias) {
      copy_bytes(bias_.data(), stream.device(), problem.bias, Device::cpu(), bias_.shape().bytes(), stream);
    }
  }

  size_t workspace_bytes() const override { return gemm_->workspace_bytes(); }
  std::string detail() const override { return gemm_->describe(); }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    {
      ScopedStage stage(context.tracer, "gemm");
      gemm_->run(product_, {inputs[0].data, weights_.data(), output.data}, context.workspace, context);
    }
    if (bias_.data() || relu_) {
      ScopedStage stage(context.tracer, "bias_rectifier");
      bias_rectifier_gpu(output.data, bias_.data(), relu_, product_.m, product_.n, 1,
                         context.stream.native_handle());
    }
  }

 private:
  bool relu_;
  Tensor weights_, bias_;
  GemmProblem product_;
  std::unique_ptr<Gemm> gemm_;
};

class CublasBackend : public LinearBackend {
 public:
  Support supports(const LinearProblem& problem) const override {
    return gemm_backend(DeviceKind::kCuda).supports(problem.math);
  }
  Determinism determinism() const override { return gemm_backend(DeviceKind::kCuda).determinism(); }
  size_t workspace_bytes() const override { return kCublasWorkspaceBytes; }
  std::unique_ptr<Operator> prepare(const LinearProblem& problem, Stream& stream) const override {
    return std::make_unique<CublasOperator>(problem, stream);
  }
};

}  // namespace

LENSLET_BACKEND(linear, gpu_cublas, CublasBackend())

}  // namespace lenslet
