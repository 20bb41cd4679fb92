// The steps of an Executable: chooses the backend of each layer, and the layers that another layer's operator computes
// before it stores its output.
#include <algorithm>
#include <numeric>
#include <optional>

#include "framework/base/choice_trace.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/execution/executable.h"
#include "framework/graph/within_math.h"

namespace lenslet {

namespace {

constexpr const char* kFirst = "the first that supports it";

// "conv" of "conv2d", as ranges name it.
std::string short_type(std::string_view type) {
  const size_t end = type.size() >= 2 && type.substr(type.size() - 2) == "2d" ? type.size() - 2 : type.size();
  return std::string(type.substr(0, end));
}

// Traces the backend of a step, the reason for it, and why `auto` skipped those with a higher rank. `math`: that of the
// build options.
void trace_step(const Executable::Step& step, const Layer& layer, const OperatorRequest& request,
                const char* why, MathMode math) {
  if (!traces_choices()) return;
  const std::string nodes = step.nodes();
  for (const BackendEntry* entry : layer.backend_entries(request.device.kind)) {
    if (why != kFirst || entry == step.entry) break;
    const Support support = layer.supports(*entry, request);
    print_choice("backend", concat(nodes, ": not ", entry->name(), ": ",
                                   support ? "another suits this request better" : support.reason()));
  }
  const bool more_exact = why == kFirst && step.uses_math && step.math != math;
  print_choice("backend", concat(nodes, ": ", step.backend, ", ", to_string(step.math), ", ", why,
                                 more_exact ? concat(": no backend suits it in ", to_string(math)) : ""));
}

// Why each backend refuses the request: "each of winograd, direct computes in fp32 only; cudnn: no GPU". Neighbours
// with the same reason share one entry. Where the backend's name is the subject of its reason ("direct on the CPU
// computes", "linear's direct supports"), the names stand in its place.
std::string refusals(const Layer& layer, const OperatorRequest& request) {
  struct Refusal {
    std::vector<std::string> backends;
    std::string reason;
    bool has_subject;
  };
  std::vector<Refusal> all;
  for (const BackendEntry* entry : layer.backend_entries(request.device.kind)) {
    std::string reason = layer.supports(*entry, request).reason();
    const size_t whole = reason.size();
    for (const std::string& own :
         {concat(entry->name(), " "), concat(layer.type(), "'s ", entry->name(), " "),
          std::string("on the CPU ")})
      if (reason.rfind(own, 0) == 0) reason.erase(0, own.size());
    const bool has_subject = reason.size() == whole;
    if (all.empty() || all.back().reason != reason || all.back().has_subject != has_subject)
      all.push_back({{}, std::move(reason), has_subject});
    all.back().backends.push_back(entry->name());
  }
  std::string text;
  for (const Refusal& refusal : all) {
    const bool each = !refusal.has_subject && refusal.backends.size() > 1;
    add_clause(text, concat(each ? "each of " : "", joined(refusal.backends, ", "),
                            refusal.has_subject ? ": " : " ", refusal.reason));
  }
  return text;
}

}  // namespace

OperatorRequest node_request(const Graph& graph, size_t node, const std::vector<Shape>& shapes,
                             const BuildOptions& options) {
  const Graph::Node& here = graph.nodes()[node];
  const bool reads_input = std::find(here.inputs.begin(), here.inputs.end(), 0) != here.inputs.end();
  const bool is_output = node + 1 == graph.nodes().size();
  const Plan* const plan = options.plan;
  OperatorRequest request =
      request_for(*here.layer, here.input_shapes(shapes), options.device, options.math,
                  reads_input ? plan ? plan->input : options.input : ElementType::kFp32,
                  is_output ? plan ? plan->output : options.output : ElementType::kFp32);
  request.workspace_limit = options.workspace_limit;
  return request;
}

const BackendEntry& Executable::choose_backend(size_t node, OperatorRequest& request,
                                               const BuildOptions& options) const {
  const std::string& name = running_.nodes()[node].name;
  const Layer& layer = *running_.nodes()[node].layer;
  const auto cannot = [&name](const std::string& backend, const Support& support) {
    const std::string message =
        concat("layer ", name, ": backend ", backend, " cannot compute it: ", support.reason());
    if (support.code() == ExitCode::kMemory) throw MemoryError(message);
    throw UnavailableError(message);
  };
  const BackendEntry* requested = nullptr;
  if (options.plan) {
    const PlanLayer& planned = *options.plan->find(name);
    request.math = planned.math;
    request.choice = planned.choice;
    requested = layer.find_backend(planned.backend, device_.kind);
    if (!requested) cannot(planned.backend, layer.supports(planned.backend, request));
  } else {
    requested = requested_[node];
  }
  if (requested) {
    if (const Support support = layer.supports(*requested, request); !support)
      cannot(requested->name(), support);
    return *requested;
  }
  if (const BackendEntry* preferred = choose_within_math(layer, request)) return *preferred;
  throw UnavailableError(concat("layer ", name, ": no backend supports ", to_string(request.math), " on ",
                                device_.to_string(), ": ", refusals(layer, request)));
}

// Fuses the only reader of a node's output into its step, and the only reader of that one, if the plan or the options
// request it and the backend supports it.
void Executable::fuse_readers(Step& step, OperatorRequest& request, const BuildOptions& options) {
  const std::vector<Graph::Node>& nodes = running_.nodes();
  const Layer& layer = *step.layer;
  size_t last = step.node;
  for (;;) {
    const std::vector<int> readers = running_.consumers(static_cast<int>(last));
    if (readers.size() != 1) break;
    const auto reader = static_cast<size_t>(readers[0]);
    const Graph::Node& next = nodes[reader];
    const bool wanted = options.plan ? options.plan->find(next.name)->backend == "fused"
                                     : options.fuse && !requested_[reader];
    if (!wanted) break;
    OperatorRequest longer = request;
    longer.output_type = reader + 1 == nodes.size() ? plan_.output : ElementType::kFp32;
    if (const Support fused = fuse(layer, *step.entry, *next.layer, longer); !fused) {
      if (!options.plan) break;
      throw DataError(concat(options.plan->origin, ": the plan fuses ", next.name, " into ", step.name,
                             ", which is unsupported: ", fused.reason()));
    }
    if (!options.plan && !layer.suits(*step.entry, longer)) break;
    request = std::move(longer);
    step.fused.push_back(next.name);
    step_of_[reader] = step_of_[step.node];
    plan_.layers.push_back(
        {next.name, std::string(next.layer->type()), "fused", MathMode::kFp32, "", step.name});
    last = reader;
  }
  // The step writes to the buffer of the last node that it computes.
  for (size_t node = step.node; node < last; ++node) {
    if (step_of_[node] == step_of_[step.node]) buffer_of_[node] = static_cast<int>(last);
  }
}

// The steps that read what a step writes.
std::vector<size_t> Executable::readers_of(const Step& step) const {
  std::vector<size_t> readers;
  for (const int node : running_.consumers(buffer_of_[step.node]))
    readers.push_back(static_cast<size_t>(step_of_[static_cast<size_t>(node)]));
  return readers;
}

// Lets a step write fp16, and its `readers` read that, if their backends support it and, unless it is planned, suit it;
// else changes nothing.
Support Executable::store_fp16(size_t writer, const std::vector<size_t>& readers, bool planned,
                               std::vector<OperatorRequest>& requests) const {
  const auto supports = [&](size_t index, const OperatorRequest& request) {
    const Step& step = steps_[index];
    const Support support = step.layer->supports(*step.entry, request);
    if (!support) return Support::no(concat(step.name, ": ", support.reason()));
    if (!planned && !step.layer->suits(*step.entry, request))
      return Support::no(concat(step.name, ": ", step.backend, " suits fp32 better"));
    return support;
  };
  if (readers.empty()) return Support::no("it is the output of the network");
  OperatorRequest writes = requests[writer];
  writes.output_type = ElementType::kFp16;
  Support support = supports(writer, writes);
  for (size_t i = 0; i < readers.size() && support; ++i) {
    OperatorRequest reads = requests[readers[i]];
    reads.input_type = ElementType::kFp16;
    // A request has one type for all inputs.
    support = reads.inputs.size() == 1 ? supports(readers[i], reads)
                                       : Support::no(concat(steps_[readers[i]].name, " has several inputs"));
  }
  if (!support) return support;
  requests[writer].output_type = ElementType::kFp16;
  for (const size_t reader : readers) requests[reader].input_type = ElementType::kFp16;
  return support;
}

// The types of the tensors between steps: those of the plan, else as the head of executable.h states. They are chosen
// from the input on: what a step reads is known before what it writes.
void Executable::choose_types(std::vector<OperatorRequest>& requests, const BuildOptions& options) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const std::vector<size_t> readers = readers_of(step);
    const bool rounded =
        !readers.empty() && std::all_of(readers.begin(), readers.end(), [this](size_t reader) {
          return steps_[reader].math == MathMode::kFp16;
        });
    const PlanLayer* const layer = options.plan ? options.plan->find(step.name) : nullptr;
    const bool planned = layer && layer->output;
    Support support = Support::no("");
    if (!options.keep_activations && (planned ? *layer->output == ElementType::kFp16 : rounded)) {
      support = store_fp16(i, readers, planned, requests);
      if (planned && !support)
        throw DataError(concat(options.plan->origin, ": the plan stores the output of ", step.name,
                               " as fp16, which is unsupported: ", support.reason()));
      trace_choice("tensor", step.nodes(), ": ",
                   support ? "fp16, as its readers round it" : "fp32: " + support.reason());
    }
    const auto entry = std::find_if(plan_.layers.begin(), plan_.layers.end(),
                                    [&](const PlanLayer& one) { return one.name == step.name; });
    entry->output = support ? ElementType::kFp16 : ElementType::kFp32;
  }
}

// The request for the whole batch, of a step from node `first` to node `last`.
OperatorRequest Executable::of_pass(OperatorRequest request, size_t first, size_t last) const {
  if (slices() == 1) return request;
  for (size_t k = 0; k < request.inputs.size(); ++k)
    request.inputs[k] = pass_shapes_[static_cast<size_t>(running_.nodes()[first].inputs[k])];
  request.output = pass_shapes_[last];
  return request;
}

// One step per node, except for nodes that their producer's step computes.
std::vector<OperatorRequest> Executable::choose_steps(const BuildOptions& options) {
  const std::vector<Graph::Node>& nodes = running_.nodes();
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
    OperatorRequest request = node_request(running_, i, shapes_, options);
    Step step;
    step.node = i;
    step.layer = &layer;
    step.name = nodes[i].name;
    step.type = layer.type();
    step.entry = &choose_backend(i, request, options);
    step.backend = step.entry->name();
    step.math = request.math;
    step.uses_math = layer.uses_math();
    step.range = "layer." + step.name;
    step.backend_range = short_type(step.type) + "." + step.backend;
    step_of_[i] = static_cast<int>(steps_.size());
    plan_.layers.push_back({step.name, step.type, step.backend, step.math, "", ""});

    fuse_readers(step, request, options);
    trace_step(step, layer, request,
               options.plan    ? "as planned"
               : requested_[i] ? "requested"
                               : kFirst,
               options.math);
    step.determinism = layer.determinism(*step.entry, request);
    requests.push_back(std::move(request));
    steps_.push_back(std::move(step));
  }
  choose_types(requests, options);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const auto last = static_cast<size_t>(buffer_of_[step.node]);
    step.work = step.layer->work_of(of_pass(requests[i], step.node, last));
    step.work.working_set = step.layer->work_of(requests[i]).bytes;
  }
  return requests;
}

}  // namespace lenslet
