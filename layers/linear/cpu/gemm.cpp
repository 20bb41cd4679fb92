// Linear on the CPU as one matrix product: Y [N, O] = X [N, I] * W [O, I]^T, added to a Y that contains the bias.
#include <cstring>

#include "framework/base/parallel.h"
#include "framework/tensor/keep_nan.h"
#include "layers/gemm/gemm_backend.h"
#include "layers/linear/linear_parameters.h"
#include "layers/linear/linear_product.h"

namespace lenslet {
namespace {

// Smallest number of values per thread in the steps before and after the product, which are bound by memory.
constexpr int64_t kGrainValues = 64 * 1024;

class GemmOperator : public Operator {
 public:
  GemmOperator(const LinearProblem& problem, Stream& stream)
      : batch_(problem.batch),
        outputs_(problem.outputs),
        relu_(problem.relu),
        parameters_(problem, stream),
        product_(linear_product(problem)),
        gemm_(gemm_backend(DeviceKind::kCpu).prepare(problem.math, stream)) {
    if (problem.bias) product_.beta = 1.0f;
  }

  size_t workspace_bytes() const override { return gemm_->workspace_bytes(); }
  std::string detail() const override { return gemm_->describe(); }

  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    float* y = output.data;
    const int64_t grain = std::max<int64_t>(1, kGrainValues / outputs_);
    if (const Tensor& bias = parameters_.bias; bias.data()) {
      ScopedStage stage(context.tracer, "bias");
      parallel_for(batch_, grain, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n)
          std::memcpy(y + n * outputs_, bias.data(), bias.shape().bytes());
      });
    }
    {
      ScopedStage stage(context.tracer, "gemm");
      gemm_->run(product_, {inputs[0].data, parameters_.weights.data(), y}, context.workspace, context);
    }
    if (relu_) {
      ScopedStage stage(context.tracer, "relu");
      parallel_for(batch_ * outputs_, kGrainValues, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = relu(y[i]);
      });
    }
  }

 private:
  int64_t batch_, outputs_;
  bool relu_;
  LinearParameters parameters_;
  GemmProblem product_;
  std::unique_ptr<Gemm> gemm_;
};

class GemmLinearBackend : public LinearBackend {
 public:
  Support supports(const LinearProblem& problem) const override {
    return gemm_backend(DeviceKind::kCpu).supports(problem.math);
  }
  Determinism determinism() const override { return gemm_backend(DeviceKind::kCpu).determinism(); }

 private:
  std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& stream) const override {
    return std::make_unique<GemmOperator>(problem, stream);
  }
};

}  // namespace

LENSLET_BACKEND(linear, cpu_gemm, GemmLinearBackend())

}  // namespace lenslet
