#include "apps/lenslet/session/session.h"

#include "apps/common/output/text.h"
#include "framework/base/parallel.h"

namespace lenslet {
namespace {

// A plan runs anywhere, but its choices were measured on the machine that made it.
void warn_about_plan(const Plan& saved, const Plan& here) {
  if (saved.version == here.version && saved.device_name == here.device_name) return;
  write_standard_error(
      printable(concat("lenslet: note: ", saved.origin, " was made by version ", saved.version, " on ",
                       saved.device_name, ", this is version ", here.version, " on ", here.device_name,
                       "; other choices may be faster here")) +
      "\n");
}

}  // namespace

std::vector<NamedFile> files_read(const CommonOptions& options) {
  std::vector<NamedFile> files = {{"--model", options.model}};
  if (!names_builtin_weights(options.weights)) files.emplace_back("--weights", options.weights);
  if (options.plan != ModelSetup::kAuto && options.plan != Plan::kLayered && options.plan != Plan::kFused)
    files.emplace_back("--plan", options.plan);
  return files;
}

std::vector<NamedFile> external_files_of(const Network& network) {
  return files_named("a file of the model", network.external_files);
}

Session::Session(const CommonOptions& options, const Console& console)
    : Session(options, console, ChosenNormalisation{}) {}

Session::Session(const CommonOptions& options, const Console& console,
                 const ChosenNormalisation& normalisation)
    : options_(options), setup_(std::make_shared<ModelSetup>(options, normalisation)) {
  console.keep(external_files_of(network()));
  if (!network().note.empty())
    write_standard_error(printable(concat("lenslet: note: ", network().note)) + "\n");
  if (options.threads) set_num_threads(*options.threads);
}

int64_t Session::batch_or(int64_t fallback) const {
  if (options_.batch_size) return *options_.batch_size;
  const Plan* const saved = setup_->saved_plan();
  return saved && saved->batch > 0 ? saved->batch : fallback;
}

void Session::check_plan_writes_logits() const {
  const Plan* const saved = setup_->saved_plan();
  if (!saved || saved->output == ElementType::kFp32) return;
  throw DataError(concat(saved->origin, ": the plan writes ", to_string(saved->output),
                         "s, this command needs logits; save one with --output logits"));
}

Model Session::profiled_model(int64_t batch) const {
  BuildOptions build = setup_->profile_options(batch, options_.ends());
  build.cuda_graph = setup_->replays(build);
  return saving_plan(build);
}

Model Session::saving_plan(const BuildOptions& build) const {
  Model model = this->model(build);
  const Plan& plan = model.executable().plan();
  write_result(options_.save_plan, options_.save_plan.empty() ? std::string() : plan.to_json());
  if (setup_->saved_plan()) warn_about_plan(*setup_->saved_plan(), plan);
  return model;
}

std::string Session::describe_device() const {
  if (devices().size() == 1) return lenslet::describe_device(device(), setup_->device_reason());
  return concat(device_list(), " (", device_name(), ")");
}

std::vector<Target> targets_for(const std::string& device) {
  if (device != ModelSetup::kAuto) return {{choose_device(device).device, true, ""}};
  std::vector<Target> targets = {{Device::cpu(), true, ""}};
  const CudaStatus& cuda = cuda_status();
  if (cuda.built) targets.push_back({Device::cuda(), cuda.usable, cuda.reason});
  return targets;
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
