#include "api/model_setup.h"

#include <algorithm>
#include <vector>

#include "framework/base/text.h"
#include "framework/device/other_device.h"
#include "framework/io/file.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kBuiltIn = "built-in weights";
constexpr size_t kMaxPlanBytes = 1 << 20;

std::optional<Plan> load_plan(const Choices& choices) {
  if (choices.plan == ModelSetup::kAuto || choices.plan == Plan::kLayered || choices.plan == Plan::kFused) {
    return std::nullopt;
  }
  const std::string& prefix = choices.option_prefix;
  if (!ends_with(choices.plan, ".json")) {
    throw UsageError(concat(prefix, "plan expects auto, layered, fused or a plan saved as .json, found '",
                            printable_excerpt(choices.plan), "'"));
  }
  if (!choices.backend.empty() || choices.math || choices.input || choices.output) {
    throw UsageError(concat(prefix,
                            "plan FILE replays its own backends, math modes, input and output; leave out ",
                            prefix, "backend, ", prefix, "math, ", prefix, "input and ", prefix, "output"));
  }
  const std::vector<uint8_t> bytes = read_file(choices.plan, kMaxPlanBytes);
  return Plan::from_json(std::string(bytes.begin(), bytes.end()), printable_excerpt(choices.plan));
}

DeviceChoice device_for(const Choices& choices, const std::optional<Plan>& plan) {
  if (plan && choices.device == ModelSetup::kAuto) {
    DeviceChoice choice = choose_device(plan->device);
    choice.reason = "the plan was made for it";
    return choice;
  }
  return choose_device(choices.device);
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

ModelSetup::ModelSetup(const Choices& choices)
    : ModelSetup(choices, choices.weights.empty() ? kBuiltIn : choices.weights, nullptr) {}

ModelSetup::ModelSetup(const Choices& choices, const ModelSetup& weights)
    : ModelSetup(choices, weights.weights_origin_, weights.graph_) {}

ModelSetup::ModelSetup(const Choices& choices, std::string weights_origin, std::shared_ptr<const Graph> graph)
    : choices_(choices),
      saved_(load_plan(choices)),
      weights_origin_(std::move(weights_origin)),
      graph_(std::move(graph)) {
  if (!graph_)
    graph_ = std::make_shared<Graph>(
        make_lenet5(load_lenet5_weights(choices.weights), printable_excerpt(weights_origin_)));
  const DeviceChoice choice = device_for(choices, saved_);
  device_ = choice.device;
  if (choices.device == kAuto) device_reason_ = choice.reason;
  if (choices.plan == Plan::kFused) {
    if (!choices.backend.empty())
      check_variant(choices.backend, *graph_, device_.kind, choices.option_prefix);
    return;
  }
  if (!choices.backend.empty()) backends_ = BackendSpec::parse(choices.backend);
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
  if (choices_.plan == Plan::kFused && !choices_.backend.empty())
    return static_cast<bool>(fused->supports(choices_.backend, request));
  return !fused->preferred(request).empty();
}

std::string ModelSetup::execution(int64_t batch, InputOutput io) const {
  if (saved_) return saved_->execution;
  if (choices_.plan != kAuto) return choices_.plan;
  if (!choices_.backend.empty()) return Plan::kLayered;
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
  if (choices_.plan == Plan::kFused) build.fused_variant = choices_.backend;
  build.input = io.input;
  build.output = io.output;
  build.plan = saved_plan();
  build.workspace_limit = choices_.workspace_limit;
  return build;
}

}  // namespace lenslet
