#include "layers/conv/conv_layer.h"

#include "framework/base/error.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/prepare_services.h"
#include "layers/fp16_ends.h"
#include "layers/fusion/fusion.h"

namespace lenslet {

Conv2dLayer::Conv2dLayer(Conv2dProblem geometry, Tensor weights, Tensor bias)
    : geometry_(std::move(geometry)), weights_(std::move(weights)), bias_(std::move(bias)) {
  const Conv2dProblem& g = geometry_;
  if (g.groups < 1 || g.c < 1 || g.k < 1 || g.r < 1 || g.s < 1 || g.c % g.groups != 0 ||
      g.k % g.groups != 0) {
    throw DataError(concat(
        "conv2d needs positive sizes and groups that divide both channel counts, found groups=", g.groups,
        ", C=", g.c, ", K=", g.k, ", filter ", g.r, "x", g.s));
  }
  if (weights_.shape() != g.weight_shape()) {
    throw DataError(concat("conv2d expected weights of shape ", g.weight_shape().to_string(), ", found ",
                           weights_.shape().to_string()));
  }
  if (bias_.data() != nullptr && bias_.shape() != Shape{g.k}) {
    throw DataError(
        concat("conv2d expected a bias of ", g.k, " values, found shape ", bias_.shape().to_string()));
  }
  if (weights_.device().is_cuda() || (bias_.data() != nullptr && bias_.device().is_cuda())) {
    throw DataError("conv2d takes its weights and bias in host memory; prepare() uploads them");
  }
}

std::string Conv2dLayer::describe() const {
  const Conv2dProblem& g = geometry_;
  std::string text = concat(g.k, "@", g.r, "x", g.s, " stride ", pair_text(g.stride_h, g.stride_w), " pad ",
                            pair_text(g.pad_h, g.pad_w));
  if (g.dilation_h != 1 || g.dilation_w != 1) text += " dilation " + pair_text(g.dilation_h, g.dilation_w);
  if (g.groups != 1) text += concat(" groups ", g.groups);
  return text;
}

Conv2dProblem Conv2dLayer::problem_for(const Shape& input) const {
  if (input.rank() != 4 || input[1] != geometry_.c) {
    throw DataError(
        concat("conv2d expected an input [N, ", geometry_.c, ", H, W], found ", input.to_string()));
  }
  for (int i : {0, 2, 3}) {
    if (input[i] > INT32_MAX)
      throw DataError(concat("conv2d takes sizes below 2^31, found ", input.to_string()));
  }
  Conv2dProblem problem = geometry_;
  problem.n = static_cast<int>(input[0]);
  problem.h = static_cast<int>(input[2]);
  problem.w = static_cast<int>(input[3]);
  try {
    problem.check();
  } catch (const UsageError& error) {
    throw DataError(concat("conv2d with input ", input.to_string(), ": ", error.what()));
  }
  return problem;
}

Shape Conv2dLayer::infer_shape(const std::vector<Shape>& inputs) const {
  return problem_for(only_input(inputs)).output_shape();
}

Work Conv2dLayer::work(const std::vector<Shape>& inputs) const {
  const Conv2dProblem problem = problem_for(inputs.at(0));
  return {problem.flops(), problem.bytes(), 0,
          static_cast<double>(inputs[0].num_elements()) - problem.values_read()};
}

std::vector<const BackendEntry*> Conv2dLayer::backend_entries(DeviceKind kind) const {
  return conv_table().entry_pointers(kind);
}

Support Conv2dLayer::do_supports(const BackendEntry& backend, const OperatorRequest& request) const {
  const Fusion fusion = read_fusion(request.fused);
  if (!fusion.support) return fusion.support;
  const ConvBackend& opened = static_cast<const ConvBackendEntry&>(backend).open();
  const Conv2dProblem problem = problem_for(request.inputs.at(0));
  const Support support = opened.supports(problem, request.math);
  if (!support) return support;
  if (const Support fused = opened.rectifier_support(fusion.rectifier); !fused)
    return Support::no(concat("backend ", backend.name(), ": ", fused.reason()));
  if (fusion.max_pool) {
    const Support pooled = opened.fuses_max_pool(problem, request.math, *fusion.max_pool);
    if (!pooled) return Support::no(concat("backend ", backend.name(), ": ", pooled.reason()));
  }
  const ConvEnds ends{request.input_type, request.output_type};
  if (const Support taken = opened.takes_ends(problem, request.math, ends, fusion.max_pool); !taken)
    return Support::no(concat("backend ", backend.name(), ": ", taken.reason()));
  // A library's workspace is known only after it chose within the limit; that of this project's backends is known
  // before.
  if (backend.kind() == BackendEntry::Kind::kBuiltIn && request.workspace_limit != SIZE_MAX) {
    return workspace_fits(concat("backend ", backend.name()),
                          opened.min_workspace_bytes(problem, request.math), request.workspace_limit);
  }
  return support;
}

bool Conv2dLayer::do_suits(const BackendEntry& backend, const OperatorRequest& request) const {
  if (has_fp16_ends(request)) return suits_fp16_ends(request);
  const ConvBackend& opened = static_cast<const ConvBackendEntry&>(backend).open();
  const Conv2dProblem problem = problem_for(request.inputs.at(0));
  if (request.fused.empty()) return opened.suits(problem, request.math);
  const Fusion fusion = read_fusion(request.fused);
  return !fusion.max_pool || opened.suits_max_pool(problem, *fusion.max_pool);
}

Determinism Conv2dLayer::do_determinism(const BackendEntry& backend, const OperatorRequest& request) const {
  return static_cast<const ConvBackendEntry&>(backend).open().determinism(problem_for(request.inputs.at(0)),
                                                                          request.math);
}

std::unique_ptr<Operator> Conv2dLayer::make_operator(const BackendEntry& backend,
                                                     const OperatorRequest& request, Stream& stream) const {
  const Fusion fusion = read_fusion(request.fused);
  const Conv2dProblem problem = problem_for(request.inputs.at(0));
  DevicePrepareServices services(stream);
  const ConvPrepare prepare{problem,
                            request.math,
                            weights_.data(),
                            bias_.data(),
                            fusion.rectifier,
                            request.workspace_limit,
                            services,
                            stream,
                            request.choice,
                            fusion.max_pool,
                            {request.input_type, request.output_type}};
  return static_cast<const ConvBackendEntry&>(backend).open().prepare(prepare);
}

}  // namespace lenslet
