// The layered side of Executable: which backend computes each layer, and which layers are computed by another one's
// operator before it stores its output.
#include <numeric>

#include "framework/choice_trace.h"
#include "framework/error.h"
#include "framework/executable.h"

namespace lenslet {

namespace {

// "conv" of "conv2d", as ranges name it.
std::string short_type(std::string_view type) {
  const size_t end = type.size() >= 2 && type.substr(type.size() - 2) == "2d" ? type.size() - 2 : type.size();
  return std::string(type.substr(0, end));
}

// Which backend computes a step, why, and why `auto` passed over those ranked before it.
void trace_step(const Executable::Step& step, const Graph::Node& node, const OperatorRequest& request,
                const BuildOptions& options) {
  if (!traces_choices()) return;
  std::string nodes = step.name;
  for (const std::string& fused : step.fused) nodes += "+" + fused;
  const bool planned = options.plan != nullptr;
  const bool asked = !planned && options.backends.backend_for(node, request.device.kind) != "auto";
  for (const std::string& name : node.layer->backends(request.device.kind)) {
    if (planned || asked || name == step.backend) break;
    print_choice("backend",
                 concat(nodes, ": not ", name, ": ", node.layer->supports(name, request).reason()));
  }
  print_choice("backend", concat(nodes, ": ", step.backend, ", ", to_string(step.math), ", ",
                                 planned ? "as planned"
                                 : asked ? "asked for"
                                         : "the first that serves"));
}

}  // namespace

std::string Executable::choose_backend(const Graph::Node& node, OperatorRequest& request,
                                       const BuildOptions& options) const {
  const Layer& layer = *node.layer;
  std::string asked = options.backends.backend_for(node, device_.kind);
  if (options.plan) {
    const PlanLayer& planned = *options.plan->find(node.name);
    asked = planned.backend;
    request.math = planned.math;
    request.choice = planned.choice;
  } else {
    request.math = layer.uses_math() ? options.math : MathMode::kFp32;
  }
  if (asked != "auto") {
    const Support support = layer.supports(asked, request);
    if (support) return asked;
    const std::string message =
        concat("layer ", node.name, ": backend ", asked, " cannot serve: ", support.reason());
    if (support.code() == ExitCode::kMemory) throw MemoryError(message);
    throw UnavailableError(message);
  }
  std::string backend = layer.preferred(request);
  if (!backend.empty()) return backend;
  std::string reasons;
  for (const std::string& name : layer.backends(device_.kind)) {
    reasons += concat(reasons.empty() ? "" : "; ", name, ": ", layer.supports(name, request).reason());
  }
  throw UnavailableError(concat("layer ", node.name, ": no backend supports ", to_string(request.math),
                                " on ", device_.to_string(), ": ", reasons));
}

// Fuses the only reader of a node's output into its step: a ReLU, a max pooling, or both, if the plan or the options
// request it and the backend supports it.
void Executable::fuse_readers(Step& step, OperatorRequest& request, const BuildOptions& options) {
  const std::vector<Graph::Node>& nodes = graph_.nodes();
  size_t last = step.node;
  for (;;) {
    const std::vector<int> readers = graph_.consumers(static_cast<int>(last));
    if (readers.size() != 1) break;
    const auto reader = static_cast<size_t>(readers[0]);
    const Graph::Node& next = nodes[reader];
    const Layer& layer = *nodes[step.node].layer;
    const Pool2dWindow* const window = next.layer->max_pool_window();
    const bool wanted = options.plan
                            ? options.plan->find(next.name)->backend == "fused"
                            : options.fuse && options.backends.backend_for(next, device_.kind) == "auto" &&
                                  (!window || layer.suits_max_pool(step.backend, request, *window));
    if (!wanted) break;
    if (const Support fused = fuse(layer, step.backend, *next.layer, request); !fused) {
      if (!options.plan) break;
      throw DataError(concat(options.plan->origin, ": the plan fuses ", next.name, " into ", step.name,
                             ", which is unsupported: ", fused.reason()));
    }
    if (window) {
      step.work.flops += next.layer->work({shapes_[last]}).flops;
      step.work.bytes +=
          static_cast<double>(shapes_[reader].bytes()) - static_cast<double>(shapes_[last].bytes());
    }
    step.fused.push_back(next.name);
    step_of_[reader] = step_of_[step.node];
    plan_.layers.push_back(
        {next.name, std::string(next.layer->type()), "fused", MathMode::kFp32, "", step.name});
    last = reader;
  }
  // What the step computes goes where the last of them would have put it.
  for (size_t node = step.node; node < last; ++node) {
    if (step_of_[node] == step_of_[step.node]) buffer_of_[node] = static_cast<int>(last);
  }
}

// One step a node, but none for what its producer's step computes.
std::vector<OperatorRequest> Executable::choose_steps(const BuildOptions& options) {
  const std::vector<Graph::Node>& nodes = graph_.nodes();
  step_of_.assign(nodes.size(), -1);
  buffer_of_.resize(nodes.size());
  std::iota(buffer_of_.begin(), buffer_of_.end(), 0);
  std::vector<OperatorRequest> requests;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].layer || step_of_[i] >= 0) continue;
    if (const PlanLayer* planned = options.plan ? options.plan->find(nodes[i].name) : nullptr;
        planned && planned->backend == "fused") {
      throw DataError(concat(options.plan->origin, ": the plan fuses ", nodes[i].name, " into ",
                             planned->fused_into, ", whose output other layers also read"));
    }
    const Layer& layer = *nodes[i].layer;
    OperatorRequest request;
    request.device = device_;
    for (int input : nodes[i].inputs) request.inputs.push_back(shapes_[static_cast<size_t>(input)]);
    request.output = shapes_[i];
    request.workspace_limit = options.workspace_limit;

    Step step;
    step.node = i;
    step.name = nodes[i].name;
    step.type = layer.type();
    step.backend = choose_backend(nodes[i], request, options);
    step.math = request.math;
    step.uses_math = layer.uses_math();
    step.work = layer.work(request.inputs);
    step.range = "layer." + step.name;
    step.backend_range = short_type(step.type) + "." + step.backend;
    step_of_[i] = static_cast<int>(steps_.size());
    plan_.layers.push_back({step.name, step.type, step.backend, step.math, "", ""});

    fuse_readers(step, request, options);
    trace_step(step, nodes[i], request, options);
    step.determinism = layer.determinism(step.backend, request);
    requests.push_back(std::move(request));
    steps_.push_back(std::move(step));
  }
  return requests;
}

}  // namespace lenslet
