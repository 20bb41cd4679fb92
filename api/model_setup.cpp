#include "api/model_setup.h"

#include <algorithm>
#include <vector>

#include "framework/io/file.h"
#include "framework/other_device.h"
#include "framework/text.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kBuiltIn = "built-in weights";
constexpr size_t kMaxPlanBytes = 1 << 20;

std::optional<Plan> load_plan(const SetupOptions& options) {
  if (options.plan == ModelSetup::kAuto || options.plan == Plan::kLayered || options.plan == Plan::kFused) {
    return std::nullopt;
  }
  const std::string& prefix = options.option_prefix;
  if (!ends_with(options.plan, ".json")) {
    throw UsageError(concat(prefix, "plan expects auto, layered, fused or a plan saved as .json, found '",
                            printable_excerpt(options.plan), "'"));
  }
  if (!options.backend.empty() || options.math || options.typed_io) {
    throw UsageError(concat(prefix,
                            "plan FILE replays its own backends, math modes, input and output; leave out ",
                            prefix, "backend, ", prefix, "math, ", prefix, "input and ", prefix, "output"));
  }
  const std::vector<uint8_t> bytes = read_file(options.plan, kMaxPlanBytes);
  return Plan::from_json(std::string(bytes.begin(), bytes.end()), printable_excerpt(options.plan));
}

DeviceChoice device_for(const SetupOptions& options, const std::optional<Plan>& plan) {
  if (plan && options.device == ModelSetup::kAuto) {
    DeviceChoice choice = choose_device(plan->device);
    choice.reason = "the plan was made for it";
    return choice;
  }
  return choose_device(options.device);
}

}  // namespace

Safetensors load_lenet5_weights(const std::string& path) {
  return path.empty() ? builtin_lenet5_weights() : read_safetensors(path);
}

// The fused plan has one backend, so the option must be the name of a variant.
void check_variant(const std::string& name, const Graph& graph, DeviceKind kind, const std::string& prefix) {
  const auto variants = [&graph](DeviceKind of) {
    return graph.fused() ? graph.fused()->variants(of) : std::vector<std::string>();
  };
  const std::vector<std::string> names = variants(kind), others = variants(other_kind(kind));
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string known = comma_list(names);
  if (std::find(others.begin(), others.end(), name) != others.end())
    throw only_on_other_device(concat("variant '", name, "' of the fused plan"), kind, known);
  const bool by_layer = name.find_first_of("=,") != std::string::npos;
  const std::string near = nearest_match(name, names);
  throw UsageError(concat(by_layer ? concat(prefix, "plan fused computes all layers at once, so ", prefix,
                                            "backend names one variant, found '")
                                   : "no variant of the fused plan is called '",
                          printable_excerpt(name), by_layer ? "'; " : concat("' on ", to_string(kind), "; "),
                          near.empty() ? "" : concat("did you mean '", near, "'? "), "there are: ", known));
}

ModelSetup::ModelSetup(const SetupOptions& options)
    : ModelSetup(options, options.weights.empty() ? kBuiltIn : options.weights, nullptr) {}

ModelSetup::ModelSetup(const SetupOptions& options, const ModelSetup& weights)
    : ModelSetup(options, weights.weights_origin_, weights.graph_) {}

ModelSetup::ModelSetup(const SetupOptions& options, std::string weights_origin,
                       std::shared_ptr<const Graph> graph)
    : options_(options),
      saved_(load_plan(options)),
      weights_origin_(std::move(weights_origin)),
      graph_(std::move(graph)) {
  if (!graph_)
    graph_ = std::make_shared<Graph>(
        make_lenet5(load_lenet5_weights(options.weights), printable_excerpt(weights_origin_)));
  const DeviceChoice choice = device_for(options, saved_);
  device_ = choice.device;
  if (options.device == kAuto) device_reason_ = choice.reason;
  if (options.plan == Plan::kFused) {
    if (!options.backend.empty())
      check_variant(options.backend, *graph_, device_.kind, options.option_prefix);
    return;
  }
  if (!options.backend.empty()) backends_ = BackendSpec::parse(options.backend);
  (void)backends_.resolve(*graph_, device_.kind);  // an invalid name is refused before anything is built
}

std::string ModelSetup::device_name() const {
  if (!device_.is_cuda()) return cpu_model();
  return cuda_status().devices.at(static_cast<size_t>(device_.ordinal)).name;
}

FusedRequest ModelSetup::fused_request(int64_t batch, InputOutput io) const {
  FusedRequest request;
  request.device = device_;
  request.batch = batch;
  request.math = math();
  request.input = io.input;
  request.output = io.output;
  return request;
}

bool ModelSetup::fused_serves(int64_t batch, InputOutput io) const {
  const FusedModel* const fused = graph_->fused();
  if (!fused) return false;
  const FusedRequest request = fused_request(batch, io);
  if (options_.plan == Plan::kFused && !options_.backend.empty())
    return static_cast<bool>(fused->supports(options_.backend, request));
  return !fused->preferred(request).empty();
}

std::string ModelSetup::execution(int64_t batch, InputOutput io) const {
  if (saved_) return saved_->execution;
  if (options_.plan != kAuto) return options_.plan;
  if (!options_.backend.empty()) return Plan::kLayered;
  if (io.input != ElementType::kFp32 || io.output != ElementType::kFp32) return Plan::kFused;
  return !device_.is_cuda() && fused_serves(batch, io) ? Plan::kFused : Plan::kLayered;
}

BuildOptions ModelSetup::build_options(int64_t batch, InputOutput io) const {
  BuildOptions build;
  build.device = device_;
  build.batch = batch;
  build.math = math();
  build.backends = backends_;
  build.execution = execution(batch, io);
  if (options_.plan == Plan::kFused) build.fused_variant = options_.backend;
  build.input = io.input;
  build.output = io.output;
  build.plan = saved_plan();
  build.workspace_limit = options_.workspace_limit;
  return build;
}

}  // namespace lenslet
