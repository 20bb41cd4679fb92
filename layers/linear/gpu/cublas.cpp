// Linear on the GPU as one product by cuBLAS: Y [N, O] = X [N, I] * W [O, I]^T; bias and ReLU follow in one pass over
// Y.
#include "layers/gemm/gemm_backend.h"
#include "layers/gemm/gpu/bias_rectifier.h"
#include "layers/gemm/gpu/cublas_workspace.h"
#include "layers/linear/linear_parameters.h"
#include "layers/linear/linear_product.h"

namespace lenslet {
namespace {

class CublasOperator : public Operator {
 public:
  CublasOperator(const LinearProblem& problem, Stream& stream)
      : relu_(problem.relu),
        parameters_(problem, stream),
        product_(linear_product(problem)),
        gemm_(gemm_backend(DeviceKind::kCuda).prepare(problem.math, stream)) {}

  size_t workspace_bytes() const override { return gemm_->workspace_bytes(); }
  std::string detail() const override { return gemm_->describe(); }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    {
      ScopedStage stage(context.tracer, "gemm");
      gemm_->run(product_, {inputs[0].data, parameters_.weights.data(), output.data}, context.workspace,
                 context);
    }
    const float* const bias = parameters_.bias.data();
    if (bias || relu_) {
      ScopedStage stage(context.tracer, "bias_rectifier");
      bias_rectifier_gpu(output.data, bias, relu_, product_.m, product_.n, 1, context.stream);
    }
  }

 private:
  bool relu_;
  LinearParameters parameters_;
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

 private:
  std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& stream) const override {
    return std::make_unique<CublasOperator>(problem, stream);
  }
};

}  // namespace

LENSLET_BACKEND(linear, gpu_cublas, CublasBackend())

}  // namespace lenslet
