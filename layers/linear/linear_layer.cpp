#include "layers/linear/linear_layer.h"
#include "layers/fp32_only.h"

#include "framework/error.h"
#include "layers/gemm/gemm.h"
#include "layers/gemm/gpu/cublas_workspace.h"
#include "layers/linear/linear_backends.h"

namespace lenslet {
namespace {

// Sizes that a backend's index arithmetic and grids hold. Weights count below 2^31, as
// everywhere in the project.
constexpr int64_t kMaxSize = INT32_MAX;
// warp_reduce puts eight outputs into each of at most 65,535 blocks along y.
constexpr int64_t kMaxWarpOutputs = 8 * 65535;
// tiled puts at least 32 outputs into each of as many.
constexpr int64_t kMaxTiledOutputs = 32 * 65535;
// Products (batch * outputs) up to which a warp an output is the faster kernel on the GPU; above, tiles are.
constexpr int64_t kWarpReduceProducts = 80 * 1000;

int64_t values_a_sample(const Shape& input) {
  int64_t count = 1;
  for (int i = 1; i < input.rank(); ++i) count *= input[i];
  return count;
}

Support provider_supports(DeviceKind kind, MathMode math) {
  try {
    return gemm_provider(kind).supports(math);
  } catch (const Error& error) {
    return Support::no(error.what());
  }
}

}  // namespace

LinearLayer::LinearLayer(Tensor weights, Tensor bias) : weights_(std::move(weights)), bias_(std::move(bias)) {
  const Shape& w = weights_.shape();
  if (w.rank() != 2 || w.num_elements() < 1 || w.num_elements() > kMaxSize) {
    throw DataError(concat("linear expected weights [outputs, inputs] of 1 to ", kMaxSize, " values, found ",
                           w.to_string()));
  }
  if (bias_.data() != nullptr && bias_.shape() != Shape{w[0]}) {
    throw DataError(
        concat("linear expected a bias of ", w[0], " values, found shape ", bias_.shape().to_string()));
  }
  if (weights_.device().is_cuda() || (bias_.data() != nullptr && bias_.device().is_cuda())) {
    throw DataError("linear takes its weights and bias in host memory; prepare() uploads them");
  }
}

std::string LinearLayer::describe() const { return concat(weights_.shape()[1], " -> ", weights_.shape()[0]); }

Shape LinearLayer::infer_shape(const std::vector<Shape>& inputs) const {
  if (inputs.size() != 1) throw DataError(concat("linear has one input, found ", inputs.size()));
  const Shape& x = inputs[0];
  if (x.rank() < 2 || values_a_sample(x) != weights_.shape()[1]) {
    throw DataError(concat("linear expected an input [N, ...] with ", weights_.shape()[1],
                           " values a sample, found ", x.to_string()));
  }
  return {x[0], weights_.shape()[0]};
}

Work LinearLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {2.0 * static_cast<double>(y[0]) * static_cast<double>(weights_.shape().num_elements()),
          static_cast<double>(inputs[0].bytes()) + static_cast<double>(y.bytes()) +
              static_cast<double>(weights_.shape().bytes()) +
              (bias_.data() ? static_cast<double>(bias_.shape().bytes()) : 0.0)};
}

std::vector<std::string> LinearLayer::backends(DeviceKind kind) const {
  if (kind == DeviceKind::kCpu) return {"direct", "gemm"};
  return {"tiled", "warp_reduce", "cublas"};
}

Support LinearLayer::supports(const std::string& backend, const OperatorRequest& request) const {
  const Support listed = lists(backend, request.device.kind);
  if (!listed) return listed;
  if (request.fuse_max_pool) return Support::no("linear does not fuse max pooling");
#if !LENSLET_HAS_CUDA
  if (request.device.is_cuda()) return Support::no("this build has no GPU side");
#endif
  if (!request.inputs.empty() && request.inputs[0].rank() > 0 && request.inputs[0][0] > kMaxSize) {
    return Support::no(concat("linear serves up to ", kMaxSize, " samples, found ", request.inputs[0][0]));
  }
  if (backend == "cublas" && request.workspace_limit < kCublasWorkspaceBytes) {
    return Support::no(concat("linear's cublas needs ", kCublasWorkspaceBytes,
                              " bytes of workspace, the limit is ", request.workspace_limit),
                       ExitCode::kMemory);
  }
  if (backend == "gemm" || backend == "cublas") return provider_supports(request.device.kind, request.math);
  if (backend == "warp_reduce" && weights_.shape()[0] > kMaxWarpOutputs) {
    return Support::no(concat("linear's warp_reduce serves up to ", kMaxWarpOutputs, " outputs, found ",
                              weights_.shape()[0]));
  }
  if (backend == "tiled" && weights_.shape()[0] > kMaxTiledOutputs) {
    return Support::no(
        concat("linear's tiled serves up to ", kMaxTiledOutputs, " outputs, found ", weights_.shape()[0]));
  }
  return fp32_only("linear's " + backend, request.math);
}

std::string LinearLayer::preferred(const OperatorRequest& request) const {
  if (request.device.is_cuda() && request.output.num_elements() <= kWarpReduceProducts &&
      supports("warp_reduce", request)) {
    return "warp_reduce";
  }
  return Layer::preferred(request);
}

Determinism LinearLayer::determinism(const std::string& backend, const OperatorRequest& request) const {
  if (backend == "gemm" || backend == "cublas") return gemm_provider(request.device.kind).determinism();
  return Determinism::kPosition;
}

std::unique_ptr<Operator> LinearLayer::prepare(const std::string& backend, const OperatorRequest& request,
                                               Stream& stream) const {
  const Support support = supports(backend, request);
  if (!support && support.code() == ExitCode::kMemory) throw MemoryError(support.reason());
  if (!support) throw UnavailableError(support.reason());
  infer_shape(request.inputs);
  LinearProblem problem;
  problem.batch = request.inputs[0][0];
  problem.outputs = weights_.shape()[0];
  problem.inputs = weights_.shape()[1];
  problem.weights = weights_.data();
  problem.bias = bias_.data();
  problem.relu = request.fuse_relu;
  problem.math = request.math;
  std::unique_ptr<Operator> op;
  if (backend == "direct") op = prepare_linear_direct_cpu(problem);
  if (backend == "gemm") op = prepare_linear_gemm_cpu(problem, stream);
#if LENSLET_HAS_CUDA
  if (backend == "warp_reduce") op = prepare_linear_warp_reduce_gpu(problem, stream);
  if (backend == "tiled") op = prepare_linear_tiled_gpu(problem, stream);
  if (backend == "cublas") op = prepare_linear_cublas_gpu(problem, stream);
#endif
  if (op->workspace_bytes() > request.workspace_limit) {
    throw MemoryError(concat("linear's ", backend, " needs ", op->workspace_bytes(),
                             " bytes of workspace, the limit is ", request.workspace_limit));
  }
  return op;
}

bool LinearLayer::can_fuse_relu(const std::string& /*backend*/, DeviceKind /*kind*/) const { return true; }

}  // namespace lenslet
