#include "apps/lenslet/session.h"

#include "apps/common/environment.h"
#include "apps/common/output.h"
#include "apps/common/text.h"
#include "framework/io/file.h"
#include "framework/io/safetensors.h"
#include "framework/parallel.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kBuiltIn = "built-in weights";
constexpr size_t kMaxPlanBytes = 1 << 20;

std::optional<Plan> load_plan(const CommonOptions& options) {
  if (options.plan == "layered") return std::nullopt;
  if (!ends_with(options.plan, ".json")) {
    throw UsageError(concat("--plan expects 'layered' or a plan saved as .json, found '", options.plan, "'"));
  }
  if (!options.backend.empty() || options.math) {
    throw UsageError("--plan replays its own backends and math modes; leave out --backend and --math");
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
  if (options.weights.empty()) return make_lenet5(builtin_lenet5_weights(), kBuiltIn);
  return make_lenet5(read_safetensors(options.weights), options.weights);
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
  if (!options.backend.empty()) backends_ = BackendSpec::parse(options.backend);
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

BuildOptions Session::build_options(int64_t batch) const {
  BuildOptions build;
  build.device = device_;
  build.batch = batch;
  build.math = math();
  build.backends = backends_;
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
  for (const PlanLayer& layer : plan.layers) {
    if (!layer.fused_into.empty()) continue;
    text += concat(text.empty() ? "" : ", ", layer.name, " ", layer.backend);
  }
  return text;
}

}  // namespace lenslet
