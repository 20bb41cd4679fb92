#include "framework/execution/executable.h"

#include <algorithm>
#include <cstring>

#include "framework/base/choice_trace.h"
#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/device/device_health.h"
#include "framework/device/device_memory.h"
#include "framework/execution/fitting_batch.h"
#include "framework/execution/memory_layout.h"
#include "framework/execution/slices.h"
#include "framework/version.h"

namespace lenslet {

namespace {

std::string device_name(Device device) {
  return device.is_cuda() ? cuda_status().devices[static_cast<size_t>(device.ordinal)].name : "CPU";
}

// Checks what a replay depends on; version and device name are informative only.
void check_plan_fits(const Plan& plan, const Graph& graph, Device device) {
  const auto wrong = [&](const std::string& what) { return DataError(concat(plan.origin, ": ", what)); };
  if ((plan.device != "cpu") != device.is_cuda()) {
    throw UnavailableError(concat(plan.origin, ": the plan is for ", plan.device, ", the device is ",
                                  device.to_string(), "; choose that device, or another plan"));
  }
  for (const Graph::Node& node : graph.nodes()) {
    if (!node.layer) continue;
    const PlanLayer* layer = plan.find(node.name);
    if (!layer) throw wrong(concat("the plan has no entry for layer ", node.name));
    if (layer->type != node.layer->type()) {
      throw wrong(concat("layer ", node.name, " is ", layer->type, " in the plan, ", node.layer->type(),
                         " in the model"));
    }
    if (layer->backend != "fused") continue;
    // Fused into the node that it reads, or into the node that computes that one.
    const Graph::Node& producer = graph.nodes()[static_cast<size_t>(node.inputs[0])];
    const PlanLayer* before = plan.find(producer.name);
    const std::string& into = before && before->backend == "fused" ? before->fused_into : producer.name;
    if (!producer.layer || layer->fused_into != into) {
      throw wrong(concat("the plan fuses ", node.name, " into '", layer->fused_into,
                         "'; a layer can only be fused into the one that computes its input, here ", into));
    }
  }
  for (const PlanLayer& layer : plan.layers) {
    const auto& nodes = graph.nodes();
    const bool known = std::any_of(nodes.begin(), nodes.end(), [&](const Graph::Node& node) {
      return node.layer && node.name == layer.name;
    });
    if (!known)
      throw wrong(concat("the plan names layer ", layer.name, ", which ", graph.name(), " does not have"));
  }
}

// The graph that a plan or the options request: the layers, or the one layer that computes them all.
const Graph& graph_to_run(const Graph& graph, const BuildOptions& options) {
  if (options.plan) options.plan->check_is_for(graph.name());
  if ((options.plan ? options.plan->execution : options.execution) != Plan::kFused) return graph;
  check_whole_network(graph);
  return *graph.whole();
}

}  // namespace

Executable::Executable(const Graph& graph, const BuildOptions& options)
    : Executable(graph, options, Memory::kTaken) {}

Plan Executable::plan_of(const Graph& graph, const BuildOptions& options) {
  return Executable(graph, options, Memory::kPlanned).plan_;
}

Executable::Executable(const Graph& graph, const BuildOptions& options, Memory memory)
    : given_(graph),
      running_(graph_to_run(graph, options)),
      memory_(memory),
      device_(options.device),
      batch_(options.batch),
      slice_samples_(options.batch),
      own_stream_(options.stream ? nullptr : std::make_unique<Stream>(options.device)),
      stream_(options.stream ? *options.stream : *own_stream_) {
  (void)checks_layers();  // refuse an invalid value before anything is built
  DeviceGuard guard(device_);
  const double start = host_now_ns();
  try {
    build(options);
    stream_.synchronise();
  } catch (const OutOfDeviceMemory& error) {
    stream_.synchronise();  // wait: enqueued work may still use the old buffers
    steps_.clear();
    activations_ = Buffer();
    workspace_ = Buffer();
    throw_with_fitting_batch(graph, options, error);
  }
  build_ns_ = host_now_ns() - start;
}

Executable::~Executable() {
  // The tear-down of a library would call the lost device or wait for it, so the operators are leaked.
  if (!device_lost(device_)) return;
  for (Step& step : steps_) (void)step.op.release();
}

// Throws if the device has less than `needed` free bytes; only they grow with the batch.
void Executable::check_memory(size_t needed) const {
  const size_t free_bytes = free_memory_bytes(device_);
  if (needed <= free_bytes) return;
  throw OutOfDeviceMemory(concat("batch ", batch_, " needs ", needed, " bytes on ", device_.to_string(), ", ",
                                 free_bytes, " are free"),
                          needed, free_bytes);
}

// Fills in what is known once a step is prepared.
void Executable::finish_step(Step& step, size_t workspace_limit) {
  step.detail = step.op->detail();
  step.workspace_bytes = step.op->workspace_bytes();
  trace_choice("algorithm", step.name, ": ", step.backend,
               step.detail.empty() ? "" : " (" + step.detail + ")",
               step.op->choice().empty() ? "" : ", chosen by timing: " + step.op->choice(), ", ",
               step.workspace_bytes, " bytes of workspace");
  const Support fits = workspace_fits(concat("layer ", step.name, ": backend ", step.backend),
                                      step.workspace_bytes, workspace_limit);
  if (!fits) throw MemoryError(fits.reason());
  plan_.workspace_bytes = std::max(plan_.workspace_bytes, step.workspace_bytes);
  for (PlanLayer& layer : plan_.layers) {
    if (layer.name == step.name) layer.choice = step.op->choice();
  }
}

void Executable::build(const BuildOptions& options) {
  if (options.cuda_graph && !device_.is_cuda()) {
    throw UsageError("a CUDA graph needs a CUDA device; the CPU has no graphs to capture");
  }
  if (options.cuda_graph && checks_layers()) {
    throw UsageError(
        "a CUDA graph replays all layers with one launch, and LENSLET_CHECK_LAYERS=1 waits after each; unset "
        "it, or capture no graph");
  }
  if (stream_.device() != device_) {
    throw UsageError(concat("BuildOptions::stream belongs to ", stream_.device().to_string(),
                            ", the executable is for ", device_.to_string()));
  }
  if (options.mapped_io && !device_.is_cuda()) {
    throw UsageError(
        "mapped_io needs a CUDA device; switch it off on the CPU, which always reads host memory");
  }
  caller_ends_ = options.caller_ends;
  if (caller_ends_ && (options.mapped_io || options.keep_activations))
    throw UsageError("caller_ends does not work with mapped_io or keep_activations");
  if (options.plan) {
    check_plan_fits(*options.plan, running_, device_);
  } else {
    requested_ = options.backends.resolve(running_, device_.kind);
  }
  pass_shapes_ = running_.infer_shapes(batch_);
  slice_samples_ = lenslet::slice_samples(running_, options);
  shapes_ = slices() == 1 ? pass_shapes_ : running_.infer_shapes(slice_samples_);
  plan_.model = running_.name();
  plan_.version = kVersion;
  plan_.device = device_.to_string();
  plan_.device_name = device_name(device_);
  plan_.batch = batch_;
  plan_.execution = &running_ == &given_ ? Plan::kLayered : Plan::kFused;
  plan_.input = options.plan ? options.plan->input : options.input;
  plan_.output = options.plan ? options.plan->output : options.output;
  trace_choice("plan", plan_.execution, options.plan ? " of " + options.plan->origin : "", ": ", plan_.model,
               ", batch ", batch_, ", ", to_string(plan_.input), " in, ", to_string(plan_.output),
               " out, on ", plan_.device, " (", plan_.device_name, ")",
               slices() == 1 ? "" : concat(", ", slice_samples_, " samples at a time"));
  const std::vector<OperatorRequest> requests = choose_steps(options);
  shape_outputs(requests);
  const MemoryLayout memory =
      place_activations(options.keep_activations, options.mapped_io || options.caller_ends);
  plan_.activation_bytes = memory.total_bytes;
  if (memory_ == Memory::kTaken) check_memory(memory.total_bytes);
  prepare_steps(requests, options.workspace_limit);
  if (memory_ == Memory::kPlanned) return;
  book_memory(memory, options);
  if (options.cuda_graph && caller_ends_) kept_captures_.emplace();
  capture_due_ = options.cuda_graph && !caller_ends_;
}

// The views of the nodes' outputs, still without data.
void Executable::shape_outputs(const std::vector<OperatorRequest>& requests) {
  for (const Shape& shape : shapes_) node_outputs_.push_back({nullptr, shape, device_});
  node_outputs_.front().type = plan_.input;
  for (size_t i = 0; i < steps_.size(); ++i)
    node_outputs_[static_cast<size_t>(buffer_of_[steps_[i].node])].type = requests[i].output_type;
  input_ = node_outputs_.front();
  output_ = node_outputs_.back();
  input_.shape = pass_shapes_.front();
  output_.shape = pass_shapes_.back();
  if (plan_.output.one_for_each_sample()) node_outputs_.back().shape = output_.shape = {batch_};
}

// A pass keeps the bytes of its input, so that it can be repeated; its output has its own memory too. Both hold the
// whole batch, the others a slice. With mapped_io or caller_ends neither has a place in the block.
MemoryLayout Executable::place_activations(bool keep_all, bool ends_elsewhere) {
  keep_activations_ = keep_all;
  const int last_step = static_cast<int>(steps_.size());
  std::vector<BufferLifetime> lifetimes(shapes_.size());
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (buffer_of_[i] != static_cast<int>(i)) continue;
    const bool end = i == 0 || i + 1 == shapes_.size();
    const bool lasting = end || keep_all;
    BufferLifetime& life = lifetimes[i];
    const size_t bytes = i == 0 ? input_.bytes() : end ? output_.bytes() : node_outputs_[i].bytes();
    life = {end && ends_elsewhere ? 0 : bytes, lasting ? 0 : step_of_[i], lasting ? last_step : step_of_[i]};
    for (int reader : running_.consumers(static_cast<int>(i))) {
      life.last = std::max(life.last, step_of_[static_cast<size_t>(reader)]);
    }
  }
  return lay_out_memory(lifetimes, Buffer::kAlignment);
}

void Executable::prepare_steps(const std::vector<OperatorRequest>& requests, size_t workspace_limit) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const double start = host_now_ns();
    step.op = step.layer->prepare(*step.entry, requests[i], stream_);
    step.prepare_ns = host_now_ns() - start;
    finish_step(step, workspace_limit);
  }
}

// One block for the activations, and one workspace of the largest size that a step needs.
void Executable::book_memory(const MemoryLayout& memory, const BuildOptions& options) {
  check_memory(memory.total_bytes + plan_.workspace_bytes);
  activations_ = Buffer(device_, memory.total_bytes);
  workspace_ = Buffer(device_, plan_.workspace_bytes);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (buffer_of_[i] != static_cast<int>(i)) continue;
    node_outputs_[i].data = reinterpret_cast<float*>(activations_.as<char>() + memory.offsets[i]);
  }
  place_io(options);
  for (Step& step : steps_) {
    for (int input : running_.nodes()[step.node].inputs) {
      step.inputs.push_back(node_outputs_[static_cast<size_t>(buffer_of_[static_cast<size_t>(input)])]);
    }
    step.output = node_outputs_[static_cast<size_t>(buffer_of_[step.node])];
  }
  // Zero-filled, so that unset input gives reproducible results.
  fill_bytes(activations_.data(), device_, 0, activations_.bytes(), stream_);
}

// Input and output: at their places in the memory layout, or in one block of page-locked host memory that the device
// addresses directly.
void Executable::place_io(const BuildOptions& options) {
  TensorView& input = node_outputs_.front();
  TensorView& output = node_outputs_.back();
  if (options.caller_ends) {  // two addresses that no buffer has, for move_ends()
    input.data = reinterpret_cast<float*>(Buffer::kAlignment);       // NOLINT(performance-no-int-to-ptr)
    output.data = reinterpret_cast<float*>(2 * Buffer::kAlignment);  // NOLINT(performance-no-int-to-ptr)
  }
  if (options.mapped_io) {
    const size_t output_offset = align_up(input_.bytes(), Buffer::kAlignment);
    mapped_ = std::make_unique<PinnedBuffer>(device_, output_offset + output_.bytes());
    char* const base = static_cast<char*>(mapped_->data());
    std::memset(base, 0, mapped_->bytes());
    input.data = reinterpret_cast<float*>(base);
    output.data = reinterpret_cast<float*>(base + output_offset);
    input.device = output.device = Device::cpu();
  }
  input_.data = input.data;
  output_.data = output.data;
  input_.device = input.device;
  output_.device = output.device;
}

ConstTensorView Executable::activation(const std::string& node) const {
  const Graph::Node& found = running_.node(node);
  const size_t index = static_cast<size_t>(&found - running_.nodes().data());
  if (!keep_activations_) throw UsageError("activation() needs an executable built with keep_activations");
  if (!node_outputs_[index].data) {
    throw UsageError(concat("the output of ", node,
                            " is not stored, because a later layer is fused into it; build with fuse off"));
  }
  return node_outputs_[index];
}

Determinism Executable::determinism() const noexcept {
  Determinism weakest = Determinism::kPosition;
  for (const Step& step : steps_) weakest = weaker(weakest, step.determinism);
  return weakest;
}

}  // namespace lenslet
