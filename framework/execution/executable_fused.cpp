// The fused side of an executable: one step that computes the whole graph.
#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/execution/choice_trace.h"
#include "framework/execution/executable.h"
#include "framework/measuring/statistics.h"

namespace lenslet {
namespace {

constexpr const char* kType = "network";

// The variant and math mode of a plan.
const PlanLayer& planned_variant(const Plan& plan, const Graph& graph) {
  if (plan.layers.size() != 1 || plan.layers[0].name != graph.name() || plan.layers[0].type != kType) {
    throw DataError(concat(plan.origin, ": a fused plan has one layer, ", graph.name(), " of type ", kType,
                           ", found ", plan.layers.size(), " layers",
                           plan.layers.empty() ? "" : concat(", the first ", plan.layers[0].name)));
  }
  return plan.layers[0];
}

std::string choose_variant(const FusedModel& model, const FusedRequest& request, const std::string& asked) {
  if (!asked.empty()) {
    const Support support = model.supports(asked, request);
    if (support) return asked;
    const std::string message =
        concat("the fused plan: variant ", asked, " cannot serve: ", support.reason());
    if (support.code() == ExitCode::kMemory) throw MemoryError(message);
    throw UnavailableError(message);
  }
  const std::string variant = model.preferred(request);
  if (!variant.empty()) return variant;
  std::string reasons;
  for (const std::string& name : model.variants(request.device.kind)) {
    reasons += concat(reasons.empty() ? "" : "; ", name, ": ", model.supports(name, request).reason());
  }
  throw UnavailableError(concat("the fused plan: no variant supports ", to_string(request.math), " with ",
                                to_string(request.input), " in and ", to_string(request.output), " out on ",
                                request.device.to_string(), reasons.empty() ? "" : ": ", reasons));
}

}  // namespace

void Executable::build_fused(const BuildOptions& options) {
  const FusedModel* const model = graph_.fused();
  if (!model) {
    throw UnavailableError(concat("the model ", graph_.name(), " has no fused plan; use the layered plan"));
  }
  if (options.keep_activations) {
    throw UsageError("a fused plan stores no activations between layers; use the layered plan to read them");
  }
  const PlanLayer* const planned = options.plan ? &planned_variant(*options.plan, graph_) : nullptr;
  FusedRequest request;
  request.device = device_;
  request.batch = batch_;
  request.math = planned ? planned->math : options.math;
  request.input = plan_.input;
  request.output = plan_.output;

  Step step;
  step.name = graph_.name();
  step.type = kType;
  step.backend = choose_variant(*model, request, planned ? planned->backend : options.fused_variant);
  step.math = request.math;
  step.uses_math = true;
  trace_choice("backend", step.name, ": ", step.backend, ", ", to_string(step.math), ", ",
               planned                         ? "as planned"
               : options.fused_variant.empty() ? "preferred"
                                               : "requested");
  step.work = model->work(request);
  step.determinism = model->determinism(step.backend, request);
  step.range = "layer." + step.name;
  step.backend_range = "fused." + step.backend;
  step.node = graph_.nodes().size() - 1;
  plan_.layers = {{step.name, step.type, step.backend, step.math, "", ""}};

  const auto [input_shape, output_shape] = graph_.end_shapes(batch_);
  TensorView input{nullptr, input_shape, device_, request.input};
  TensorView output{nullptr, request.output == ElementType::kClass ? Shape{batch_} : output_shape, device_,
                    request.output};
  const size_t output_offset = align_up(input.bytes(), Buffer::kAlignment);
  plan_.activation_bytes =
      options.mapped_io ? 0 : output_offset + align_up(output.bytes(), Buffer::kAlignment);
  demand_memory(plan_.activation_bytes);
  const double start = host_now_ns();
  step.op = model->prepare(step.backend, request, stream_);
  step.prepare_ns = host_now_ns() - start;
  finish_step(step, options.workspace_limit);
  demand_memory(plan_.activation_bytes + plan_.workspace_bytes);
  activations_ = Buffer(device_, plan_.activation_bytes);
  workspace_ = Buffer(device_, plan_.workspace_bytes);
  if (!options.mapped_io) {
    input.data = activations_.as<float>();
    output.data = reinterpret_cast<float*>(activations_.as<char>() + output_offset);
    fill_bytes(activations_.data(), device_, 0, activations_.bytes(), stream_);
  }
  place_io(input, output, options.mapped_io);
  node_outputs_.resize(graph_.nodes().size());
  step.inputs = {input_};
  step.output = output_;
  steps_.push_back(std::move(step));
}

}  // namespace lenslet
