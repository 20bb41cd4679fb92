#include "framework/executable.h"

#include <algorithm>

#include "framework/error.h"
#include "framework/memory_plan.h"
#include "framework/nvtx.h"
#include "framework/statistics.h"
#include "framework/version.h"

namespace lenslet {

namespace {

// Stages of a run that nobody times are still visible to Nsight.
class NvtxTracer : public Tracer {
 public:
  void begin(const char* name) override { nvtx_push(name); }
  void end() noexcept override { nvtx_pop(); }
};

std::string device_name(Device device) {
  return device.is_cuda() ? cuda_status().devices[static_cast<size_t>(device.ordinal)].name : "CPU";
}

void check_plan_fits(const Plan& plan, const Graph& graph, Device device) {
  if (plan.model != graph.name()) {
    throw DataError(concat("the plan is for model ", plan.model, ", this one is ", graph.name()));
  }
  if (plan.execution != "layered") {
    throw DataError(concat("the plan's execution must be \"layered\", found \"", plan.execution, "\""));
  }
  if ((plan.device.rfind("cuda", 0) == 0) != device.is_cuda()) {
    throw UnavailableError(concat("the plan is for ", plan.device, ", the device is ", device.to_string(),
                                  "; choose the device with --device"));
  }
  for (const PlanLayer& layer : plan.layers) graph.node(layer.name);
  for (const Graph::Node& node : graph.nodes()) {
    if (node.layer && !plan.find(node.name))
      throw DataError(concat("the plan says nothing of layer ", node.name));
  }
}

[[noreturn]] void throw_out_of_memory(size_t needed, size_t free_bytes, int64_t batch, Device device) {
  // Everything that a build books grows with the batch.
  const double share = static_cast<double>(free_bytes) / static_cast<double>(std::max<size_t>(needed, 1));
  const int64_t fits = static_cast<int64_t>(static_cast<double>(batch) * std::min(share, 1.0));
  throw MemoryError(concat("batch ", batch, " needs ", needed, " bytes on ", device.to_string(), ", ",
                           free_bytes, " are free; the largest batch that fits is about ", fits));
}

}  // namespace

Executable::Executable(const Graph& graph, const BuildOptions& options)
    : graph_(graph), device_(options.device), batch_(options.batch), stream_(options.device) {
  DeviceGuard guard(device_);
  const double start = host_now_ns();
  build(options);
  stream_.synchronize();
  build_ns_ = host_now_ns() - start;
}

Executable::~Executable() = default;

std::string Executable::choose_backend(const Graph::Node& node, OperatorRequest& request,
                                       const BuildOptions& options) const {
  const Layer& layer = *node.layer;
  std::string asked = options.backends.backend_for(node, device_.kind);
  if (options.plan) {
    const PlanLayer& planned = *options.plan->find(node.name);
    asked = planned.backend;
    request.math = planned.math;
  } else {
    request.math = layer.uses_math() ? options.math : MathMode::kFp32;
  }
  if (asked != "auto") {
    const Support support = layer.supports(asked, request);
    if (support) return asked;
    throw UnavailableError(
        concat("layer ", node.name, ": backend ", asked, " cannot serve: ", support.reason()));
  }
  std::string backend = layer.preferred(request);
  if (!backend.empty()) return backend;
  std::string reasons;
  for (const std::string& name : layer.backends(device_.kind)) {
    reasons += concat(reasons.empty() ? "" : "; ", name, ": ", layer.supports(name, request).reason());
  }
  throw UnavailableError(concat("layer ", node.name, ": no backend serves ", to_string(request.math), " on ",
                                device_.to_string(), ": ", reasons));
}

void Executable::build(const BuildOptions& options) {
  const std::vector<Graph::Node>& nodes = graph_.nodes();
  const std::vector<Shape> shapes = graph_.infer_shapes(batch_);
  if (options.plan) {
    check_plan_fits(*options.plan, graph_, device_);
  } else {
    options.backends.check(graph_, device_.kind);
  }
  if (options.cuda_graph && !device_.is_cuda()) {
    throw UsageError("a CUDA graph needs a CUDA device; leave --graph off on the CPU");
  }
  keep_activations_ = options.keep_activations;

  plan_.model = graph_.name();
  plan_.version = kVersion;
  plan_.device = device_.to_string();
  plan_.device_name = device_name(device_);
  plan_.batch = batch_;

  // Choose backends and fusions. Node i is computed by step step_of[i] (a fused ReLU by its producer's).
  std::vector<int> step_of(nodes.size(), -1);
  std::vector<int> buffer_of(nodes.size());  // the node whose buffer holds this node's output
  std::vector<OperatorRequest> requests;
  for (size_t i = 0; i < nodes.size(); ++i) {
    buffer_of[i] = static_cast<int>(i);
    if (!nodes[i].layer || step_of[i] >= 0) continue;
    OperatorRequest request;
    request.device = device_;
    for (int input : nodes[i].inputs) request.inputs.push_back(shapes[static_cast<size_t>(input)]);
    request.output = shapes[i];
    request.workspace_limit = options.workspace_limit;

    Step step;
    step.name = nodes[i].name;
    step.type = nodes[i].layer->type();
    step.backend = choose_backend(nodes[i], request, options);
    step.math = request.math;
    step.uses_math = nodes[i].layer->uses_math();
    step.work = nodes[i].layer->work(request.inputs);
    step.range = "layer." + step.name;
    step_of[i] = static_cast<int>(steps_.size());
    plan_.layers.push_back({step.name, step.type, step.backend, step.math, ""});

    const std::vector<int> readers = graph_.consumers(static_cast<int>(i));
    if (readers.size() == 1 && nodes[static_cast<size_t>(readers[0])].layer->is_relu()) {
      const size_t relu = static_cast<size_t>(readers[0]);
      const bool wanted =
          options.plan ? options.plan->find(nodes[relu].name)->backend == "fused" : options.fuse;
      if (wanted && nodes[i].layer->can_fuse_relu(step.backend, device_.kind)) {
        request.fuse_relu = true;
        step.fused.push_back(nodes[relu].name);
        step_of[relu] = step_of[i];
        buffer_of[i] = static_cast<int>(relu);
      } else if (options.plan && wanted) {
        throw DataError(concat("the plan fuses ", nodes[relu].name, " into ", step.name, ", which backend ",
                               step.backend, " cannot do"));
      }
    }
    requests.push_back(std::move(request));
    steps_.push_back(std::move(step));
    for (const std::string& fused : steps_.back().fused) {
      plan_.layers.push_back({fused, "relu", "fused", MathMode::kFp32, steps_.back().name});
    }
  }

  // Activations. The input keeps its bytes through a pass, so that a pass can be repeated; so does the
  // output.
  const int last_step = static_cast<int>(steps_.size());
  std::vector<BufferLifetime> lifetimes(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (buffer_of[i] != static_cast<int>(i)) continue;
    const bool lasting = i == 0 || i + 1 == nodes.size() || keep_activations_;
    BufferLifetime& life = lifetimes[i];
    life = {shapes[i].bytes(), lasting ? 0 : step_of[i], lasting ? last_step : step_of[i]};
    for (int reader : graph_.consumers(static_cast<int>(i))) {
      life.last = std::max(life.last, step_of[static_cast<size_t>(reader)]);
    }
  }
  const MemoryPlan memory = plan_memory(lifetimes, Buffer::kAlignment);
  plan_.activation_bytes = memory.total_bytes;
  const size_t free_bytes = free_memory_bytes(device_);
  if (memory.total_bytes > free_bytes) throw_out_of_memory(memory.total_bytes, free_bytes, batch_, device_);
  activations_ = Buffer(device_, memory.total_bytes);
  node_outputs_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (buffer_of[i] != static_cast<int>(i)) continue;
    node_outputs_[i] = {reinterpret_cast<float*>(activations_.as<char>() + memory.offsets[i]), shapes[i],
                        device_};
  }
  input_ = node_outputs_.front();
  output_ = node_outputs_.back();
  // Work on what nobody has filled yet must at least be reproducible.
  fill_bytes(activations_.data(), device_, 0, activations_.bytes(), stream_);

  // Prepare the operators, then book one workspace for the hungriest.
  size_t workspace = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].layer || step_of[i] < 0) continue;
    Step& step = steps_[static_cast<size_t>(step_of[i])];
    if (step.name != nodes[i].name) continue;  // fused away
    const double start = host_now_ns();
    step.op = nodes[i].layer->prepare(step.backend, requests[static_cast<size_t>(step_of[i])], stream_);
    step.prepare_ns = host_now_ns() - start;
    step.detail = step.op->detail();
    step.workspace_bytes = step.op->workspace_bytes();
    if (step.workspace_bytes > options.workspace_limit) {
      throw MemoryError(concat("layer ", step.name, ": backend ", step.backend, " needs ",
                               step.workspace_bytes, " bytes of workspace, the limit is ",
                               options.workspace_limit));
    }
    workspace = std::max(workspace, step.workspace_bytes);
    for (int input : nodes[i].inputs) {
      step.inputs.push_back(node_outputs_[static_cast<size_t>(buffer_of[static_cast<size_t>(input)])]);
    }
    step.output = node_outputs_[static_cast<size_t>(buffer_of[i])];
  }
  plan_.workspace_bytes = workspace;
  workspace_ = Buffer(device_, workspace);

  if (options.cuda_graph) {
    // Libraries set themselves up on their first call, which a capture must not see.
    for (size_t i = 0; i < steps_.size(); ++i) run_step(i);
    stream_.synchronize();
    captured_ = CapturedGraph::capture(stream_, [this] {
      for (size_t i = 0; i < steps_.size(); ++i) run_step(i);
    });
  }
}

ConstTensorView Executable::activation(const std::string& node) const {
  const Graph::Node& found = graph_.node(node);
  const size_t index = static_cast<size_t>(&found - graph_.nodes().data());
  if (!keep_activations_) throw UsageError("activation() needs an executable built with keep_activations");
  if (!node_outputs_[index].data) {
    throw UsageError(
        concat("the output of ", node, " is never stored: it is fused with its ReLU; build without fuse"));
  }
  return node_outputs_[index];
}

void Executable::run() {
  DeviceGuard guard(device_);
  NvtxRange range("run");
  if (captured_) {
    captured_.launch(stream_);
    return;
  }
  for (size_t i = 0; i < steps_.size(); ++i) run_step(i);
}

void Executable::run_step(size_t index, Tracer* tracer) {
  static NvtxTracer nvtx_tracer;
  Step& step = steps_[index];
  NvtxRange range(step.range.c_str());
  RunContext context{stream_, workspace_.data(), tracer ? tracer : &nvtx_tracer};
  step.op->run(step.inputs, step.output, context);
}

}  // namespace lenslet
