#include "layers/linear/linear_layer.h"

#include <algorithm>

#include "framework/base/error.h"
#include "layers/fp16_ends.h"
#include "layers/fusion/fusion.h"

namespace lenslet {
namespace {

// There are fewer than 2^31 weights and samples, as everywhere in the project.
constexpr int64_t kMaxSize = INT32_MAX;

const LinearBackend& open(const BackendEntry& backend) {
  return static_cast<const BackendEntryOf<LinearBackend>&>(backend).open();
}

}  // namespace

LinearLayer::LinearLayer(Tensor weights, Tensor bias, LinearVectors vectors)
    : weights_(std::move(weights)), bias_(std::move(bias)), vectors_(vectors) {
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

Shape LinearLayer::as_vectors(const Shape& input) const {
  const bool rows = vectors_ == LinearVectors::kRows;
  int64_t values = 1;  // of a vector
  for (int i = rows ? std::max(input.rank() - 1, 1) : 1; i < input.rank(); ++i) values *= input[i];
  if (input.rank() < 2 || values != weights_.shape()[1]) {
    throw DataError(concat("linear expected an input [N, ...] with ", weights_.shape()[1],
                           rows ? " values per row, found " : " values per sample, found ",
                           input.to_string()));
  }
  return {input.num_elements() / values, values};
}

Shape LinearLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = only_input(inputs);
  const int64_t vectors = as_vectors(x)[0], outputs = weights_.shape()[0];
  if (vectors_ == LinearVectors::kSamples) return {vectors, outputs};
  std::vector<int64_t> dims = x.dims();
  dims.back() = outputs;
  return Shape(dims);
}

Work LinearLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  return {2.0 * static_cast<double>(y.num_elements()) * static_cast<double>(weights_.shape()[1]),
          static_cast<double>(inputs[0].bytes()) + static_cast<double>(y.bytes()) +
              static_cast<double>(weights_.shape().bytes()) +
              (bias_.data() ? static_cast<double>(bias_.shape().bytes()) : 0.0)};
}

LinearProblem LinearLayer::problem_for(const OperatorRequest& request) const {
  LinearProblem problem;
  problem.batch = as_vectors(request.inputs.at(0))[0];
  problem.outputs = weights_.shape()[0];
  problem.inputs = weights_.shape()[1];
  problem.weights = weights_.data();
  problem.bias = bias_.data();
  problem.relu = read_fusion(request.fused).rectifier.relu();
  problem.math = request.math;
  problem.input_type = request.input_type;
  problem.output_type = request.output_type;
  return problem;
}

std::vector<const BackendEntry*> LinearLayer::backend_entries(DeviceKind kind) const {
  return linear_table().entry_pointers(kind);
}

Support LinearLayer::do_supports(const BackendEntry& backend, const OperatorRequest& request) const {
  const Fusion fusion = read_fusion(request.fused);
  if (!fusion.support) return fusion.support;
  if (fusion.max_pool) return Support::no(concat("linear fuses no max pooling", kLeaveUnfused));
  if (!fusion.rectifier.none() && !fusion.rectifier.relu())
    return Support::no(concat("linear fuses ReLU only, found ", fusion.rectifier.to_string(), kLeaveUnfused));
  const LinearProblem problem = problem_for(request);
  if (problem.batch > kMaxSize)
    return Support::no(concat("linear supports up to ", kMaxSize, " vectors, found ", problem.batch,
                              ": use a smaller batch"));
  const LinearBackend& opened = open(backend);
  const Support support = opened.computes(problem);
  if (!support) return support;
  return workspace_fits(concat("linear's ", backend.name()), opened.workspace_bytes(),
                        request.workspace_limit);
}

bool LinearLayer::do_suits(const BackendEntry& backend, const OperatorRequest& request) const {
  if (has_fp16_ends(request)) return suits_fp16_ends(request);
  return open(backend).suits(problem_for(request));
}

Determinism LinearLayer::do_determinism(const BackendEntry& backend,
                                        const OperatorRequest& /*request*/) const {
  return open(backend).determinism();
}

std::unique_ptr<Operator> LinearLayer::make_operator(const BackendEntry& backend,
                                                     const OperatorRequest& request, Stream& stream) const {
  return open(backend).prepare(problem_for(request), stream);
}

}  // namespace lenslet
