#include "apps/lenslet/session.h"

#include <algorithm>

#include "apps/common/environment.h"
#include "apps/common/output.h"
#include "apps/common/text.h"
#include "framework/io/file.h"
#include "framework/io/safetensors.h"
#include "framework/other_device.h"
#include "framework/parallel.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kBuiltIn = "built-in weights";
constexpr const char* kAuto = "auto";
constexpr size_t kMaxPlanBytes = 1 << 20;

std::optional<Plan> load_plan(const CommonOptions& options) {
  if (options.plan == kAuto || options.plan == Plan::kLayered || options.plan == Plan::kFused) {
    return std::nullopt;
  }
  if (!ends_with(options.plan, ".json")) {
    throw UsageError(concat("--plan expects auto, layered, fused or a plan saved as .json, found '",
                            printable(options.plan), "'"));
  }
  if (!options.backend.empty() || options.math || options.input || options.output) {
    throw UsageError(
        "--plan FILE replays its own backends, math modes, input and output; leave out --backend, --math, "
        "--input and --output");
  }
  const std::vector<uint8_t> bytes = read_file(options.plan, kMaxPlanBytes);
  return Plan::from_json(std::string(bytes.begin(), bytes.end()), options.plan);
}

DeviceChoice device_for(const CommonOptions& options, const std::optional<Plan>& plan) {
  if (plan && options.device == "auto") {
    DeviceChoice choice = choose_device(plan->device);
    choice.reason = "the plan was made for it";
    return choice;
  }
  return choose_device(options.device);
}

Graph load_graph(const CommonOptions& options) {
  return make_lenet5(load_weights(options), options.weights.empty() ? kBuiltIn : options.weights);
}

// A plan replays anywhere, but what it chose was measured where it was made.
void warn_about_plan(const Plan& saved, const Plan& here) {
  if (saved.version == here.version && saved.device_name == here.device_name) return;
  write_standard_error(
      printable(concat("lenslet: note: ", saved.origin, " was made by version ", saved.version, " on ",
                       saved.device_name, ", this is version ", here.version, " on ", here.device_name,
                       "; other choices may be faster here")) +
      "\n");
}

}  // namespace

// The fused plan has one backend, so --backend must be one name that it knows.
void check_variant(const std::string& name, const Graph& graph, DeviceKind kind) {
  const std::vector<std::string> names =
      graph.fused() ? graph.fused()->variants(kind) : std::vector<std::string>();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const bool by_layer = name.find_first_of("=,") != std::string::npos;
  const std::string near = nearest_match(name, names);
  std::string known;
  for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
  const std::vector<std::string> others =
      graph.fused() ? graph.fused()->variants(other_kind(kind)) : std::vector<std::string>();
  if (std::find(others.begin(), others.end(), name) != others.end())
    throw only_on_other_device(concat("variant '", name, "' of the fused plan"), kind, known);
  throw UsageError(
      concat(by_layer ? "--plan fused computes all layers at once, so --backend names one variant, found '"
                      : "no variant of the fused plan is called '",
             printable(name), by_layer ? "'; " : concat("' on ", to_string(kind), "; "),
             near.empty() ? "" : concat("did you mean '", near, "'? "),
             "there are: ", known.empty() ? "none" : known));
}

Safetensors load_weights(const CommonOptions& options) {
  return options.weights.empty() ? builtin_lenet5_weights() : read_safetensors(options.weights);
}

Session::Session(const CommonOptions& options)
    : options_(options),
      plan_(load_plan(options)),
      weights_origin_(options.weights.empty() ? kBuiltIn : options.weights),
      graph_(load_graph(options)) {
  if (options.threads) set_num_threads(*options.threads);
  const DeviceChoice choice = device_for(options, plan_);
  device_ = choice.device;
  if (options.device == "auto") device_reason_ = choice.reason;
  if (options.cuda_graph && !device_.is_cuda()) {
    throw UsageError("--graph on needs a CUDA device; the CPU has no graphs to capture");
  }
  check_execution();
}

void Session::check_execution() {
  const bool only_fused = options_.input.value_or(ElementType::kFp32) != ElementType::kFp32 ||
                          options_.output.value_or(ElementType::kFp32) != ElementType::kFp32;
  if (options_.plan == Plan::kFused) {
    if (!options_.backend.empty()) check_variant(options_.backend, graph_, device_.kind);
    return;
  }
  if (only_fused && (options_.plan == Plan::kLayered || !options_.backend.empty())) {
    throw UsageError(
        "--input uint8 and --output prediction need --plan fused; the layered plan reads and writes fp32");
  }
  if (!options_.backend.empty()) backends_ = BackendSpec::parse(options_.backend);
  backends_.check(graph_, device_.kind);
}

std::string Session::device_name() const {
  if (!device_.is_cuda()) return cpu_model();
  return cuda_status().devices.at(static_cast<size_t>(device_.ordinal)).name;
}

std::string Session::describe_device() const {
  std::string text = concat(device_.to_string(), " (", device_name());
  if (!device_.is_cuda()) text += concat(", ", num_threads(), num_threads() == 1 ? " thread" : " threads");
  text += ")";
  return device_reason_.empty() ? text : concat(text, ", ", device_reason_);
}

int64_t Session::batch_or(int64_t fallback) const {
  if (options_.batch_size) return *options_.batch_size;
  return plan_ && plan_->batch > 0 ? plan_->batch : fallback;
}

FusedRequest Session::fused_request(int64_t batch) const {
  FusedRequest request;
  request.device = device_;
  request.batch = batch;
  request.math = math();
  request.input = options_.input.value_or(ElementType::kFp32);
  request.output = options_.output.value_or(ElementType::kFp32);
  return request;
}

std::string Session::execution(int64_t batch) const {
  if (plan_) return plan_->execution;
  if (options_.plan != kAuto) return options_.plan;
  const FusedRequest request = fused_request(batch);
  if (request.input != ElementType::kFp32 || request.output != ElementType::kFp32) return Plan::kFused;
  const bool serves = !device_.is_cuda() && options_.backend.empty() && graph_.fused() &&
                      !graph_.fused()->preferred(request).empty();
  return serves ? Plan::kFused : Plan::kLayered;
}

void Session::demand_logits() const {
  if (!plan_ || plan_->output == ElementType::kFp32) return;
  throw DataError(concat(plan_->origin, ": the plan writes ", to_string(plan_->output),
                         "s, this command needs logits; save one with --output logits"));
}

BuildOptions Session::build_options(int64_t batch) const {
  const FusedRequest request = fused_request(batch);
  BuildOptions build;
  build.device = device_;
  build.batch = batch;
  build.math = math();
  build.backends = backends_;
  build.execution = execution(batch);
  if (options_.plan == Plan::kFused) build.fused_variant = options_.backend;
  build.input = request.input;
  build.output = request.output;
  build.plan = plan_ ? &*plan_ : nullptr;
  build.workspace_limit = options_.workspace_limit;
  build.cuda_graph = options_.cuda_graph;
  return build;
}

std::unique_ptr<Executable> Session::build(int64_t batch) const {
  auto executable = std::make_unique<Executable>(graph_, build_options(batch));
  write_result(options_.save_plan, options_.save_plan.empty() ? std::string() : executable->plan().to_json());
  if (plan_) warn_about_plan(*plan_, executable->plan());
  return executable;
}

std::string describe_backends(const Plan& plan) {
  std::string text;
  if (plan.execution == Plan::kFused) {
    text = concat("fused ", plan.layers.at(0).backend);
    if (plan.input != ElementType::kFp32) text += concat(", ", to_string(plan.input), " in");
    if (plan.output != ElementType::kFp32) text += concat(", ", to_string(plan.output), " out");
    return text;
  }
  for (const PlanLayer& layer : plan.layers) {
    if (!layer.fused_into.empty()) continue;
    text += concat(text.empty() ? "" : ", ", layer.name, " ", layer.backend);
  }
  return text;
}

}  // namespace lenslet
