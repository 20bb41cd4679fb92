#include "layers/linear/linear_layer.h"

#include "framework/error.h"
#include "layers/built_for.h"
#include "layers/fp32_only.h"
#include "layers/gemm/gemm.h"
#include "layers/gemm/gpu/cublas_workspace.h"
#include "layers/linear/linear_backends.h"

namespace lenslet {
namespace {

// Limits of a backend's index arithmetic and grids. There are fewer than 2^31 weights, as everywhere in the project.
constexpr int64_t kMaxSize = INT32_MAX;
// warp_reduce puts eight outputs into each of at most 65,535 blocks along y.
constexpr int64_t kMaxWarpOutputs = 8 * 65535;
// tiled puts at least 32 outputs into each of as many.
constexpr int64_t kMaxTiledOutputs = 32 * 65535;
// Up to this number of outputs (batch * outputs) one warp per output is faster on the GPU; above it, tiles are.
constexpr int64_t kWarpReduceProducts = 80 * 1000;

/// One way to compute the layer.
struct LinearBackend {
  const char* name;
  DeviceKind kind;
  bool by_library;       // a library's matrix product, which has its own math modes
  int64_t most_outputs;  // limit of its grid
  // Null if this build lacks the device.
  std::unique_ptr<Operator> (*prepare)(const LinearProblem&, Stream&);
};

#ifdef LENSLET_HAS_CUDA
#define LENSLET_LINEAR_GPU(name) &prepare_linear_##name##_gpu
#else
#define LENSLET_LINEAR_GPU(name) nullptr
#endif

/// In rank order.
constexpr LinearBackend kBackends[] = {
    {"direct", DeviceKind::kCpu, false, kMaxSize, &prepare_linear_direct_cpu},
    {"gemm", DeviceKind::kCpu, true, kMaxSize, &prepare_linear_gemm_cpu},
    {"tiled", DeviceKind::kCuda, false, kMaxTiledOutputs, LENSLET_LINEAR_GPU(tiled)},
    {"warp_reduce", DeviceKind::kCuda, false, kMaxWarpOutputs, LENSLET_LINEAR_GPU(warp_reduce)},
    {"cublas", DeviceKind::kCuda, true, kMaxSize, LENSLET_LINEAR_GPU(cublas)},
};
#undef LENSLET_LINEAR_GPU

/// The backend of that name, which LinearLayer::lists() must accept.
const LinearBackend& backend_named(const std::string& name, DeviceKind kind) {
  for (const LinearBackend& entry : kBackends) {
    if (name == entry.name && kind == entry.kind) return entry;
  }
  throw UnavailableError(concat("linear has no backend '", name, "' on ", to_string(kind)));
}

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
  std::vector<std::string> names;
  for (const LinearBackend& entry : kBackends) {
    if (entry.kind == kind) names.emplace_back(entry.name);
  }
  return names;
}

Support LinearLayer::supports(const std::string& backend, const OperatorRequest& request) const {
  const Support listed = lists(backend, request.device.kind);
  if (!listed) return listed;
  if (request.fuse_max_pool) return Support::no("linear does not fuse max pooling");
  const LinearBackend& entry = backend_named(backend, request.device.kind);
  if (!entry.prepare) return built_for(request.device);
  if (!request.inputs.empty() && request.inputs[0].rank() > 0 && request.inputs[0][0] > kMaxSize) {
    return Support::no(concat("linear serves up to ", kMaxSize, " samples, found ", request.inputs[0][0]));
  }
  if (backend == "cublas" && request.workspace_limit < kCublasWorkspaceBytes) {
    return Support::no(concat("linear's cublas needs ", kCublasWorkspaceBytes,
                              " bytes of workspace, the limit is ", request.workspace_limit),
                       ExitCode::kMemory);
  }
  if (entry.by_library) return provider_supports(request.device.kind, request.math);
  if (weights_.shape()[0] > entry.most_outputs) {
    return Support::no(concat("linear's ", backend, " serves up to ", entry.most_outputs, " outputs, found ",
                              weights_.shape()[0]));
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
  const DeviceKind kind = request.device.kind;
  return backend_named(backend, kind).by_library ? gemm_provider(kind).determinism() : Determinism::kPosition;
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
  std::unique_ptr<Operator> op = backend_named(backend, request.device.kind).prepare(problem, stream);
  if (op->workspace_bytes() > request.workspace_limit) {
    throw MemoryError(concat("linear's ", backend, " needs ", op->workspace_bytes(),
                             " bytes of workspace, the limit is ", request.workspace_limit));
  }
  return op;
}

bool LinearLayer::can_fuse_relu(const std::string& /*backend*/, DeviceKind /*kind*/) const { return true; }

}  // namespace lenslet
