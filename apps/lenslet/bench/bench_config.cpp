#include "apps/lenslet/bench/bench_config.h"

#include <algorithm>

#include "apps/common/output/text.h"
#include "apps/lenslet/candidates/reference_layer.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

// Largest default batches of LeNet-5: 6e11 and 9e9 operations (563,280 per image), some hundredths of a second, beside
// which the fixed cost of a pass is small. Chosen by hand.
constexpr int64_t kMaxOnGpu = 1 << 20, kMaxOnCpu = 1 << 14;
constexpr const char* kAllBackends = "all";
// Operations of the largest default batch of another network than LeNet-5: some tenths of a second.
constexpr double kPassFlopsOnGpu = 2e13, kPassFlopsOnCpu = 2e10;

template <typename T>
bool holds(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<MathMode> maths_of(const ModelBenchOptions& options, Device device) {
  if (!options.maths.empty()) return options.maths;
  if (!device.is_cuda()) return {MathMode::kFp32};
  return {std::begin(kFloatMathModes), std::end(kFloatMathModes)};
}

// One configuration per whole-network backend: the named ones, all, or the one that `auto` takes.
void add_fused(const ModelBenchOptions& options, const Graph& graph, const BenchConfig& base, Device device,
               std::vector<BenchConfig>& configs) {
  std::vector<std::string> names = options.backends;
  const bool all = names == std::vector<std::string>{kAllBackends};
  if (all) names = graph.network()->backends(device.kind);
  if (names.empty()) {
    names = {graph.network()->preferred(
        graph.network_request(device, base.batch, base.math, base.input, base.output))};
  }
  for (const std::string& name : names) {
    configs.push_back(base);
    configs.back().plan = Plan::kFused;
    configs.back().backend = name;
    configs.back().by_name = !all && !options.backends.empty();
  }
}

// Each configuration at the requested places; without a host row where a call takes other types.
std::vector<BenchConfig> at_places(const std::vector<BenchConfig>& configs,
                                   const ModelBenchOptions& options) {
  const auto wanted = [&](const char* place) {
    return options.places.empty() || holds<std::string>(options.places, place);
  };
  std::vector<BenchConfig> placed;
  for (const BenchConfig& config : configs) {
    const bool from_pixels = config.input != ElementType::kFp32 && config.output == kPrediction;
    if (wanted(ModelBenchOptions::kDevice)) placed.push_back(config);
    if (!from_pixels || options.latency || !wanted(ModelBenchOptions::kHost)) continue;
    placed.push_back(config);
    placed.back().place = ModelBenchOptions::kHost;
  }
  if (placed.empty())
    throw UsageError(
        "nothing is left to measure: --place host times calls from pixels to predictions; add --plan fused, "
        "--input uint8 and --output prediction");
  return placed;
}

}  // namespace

const char* output_name(ElementType output) noexcept {
  return output == ElementType::kFp32 ? "logits" : to_string(output);
}

std::string BenchConfig::key() const {
  return concat(plan, " ", backend, " ", to_string(math), " ", to_string(input), " ", output_name(output),
                " ", place);
}

BuildOptions BenchConfig::build_options(const Session& session, Stream& stream) const {
  BuildOptions build = session.build_options(batch);
  build.execution = plan;
  if (!backend.empty() && !build.plan) build.backends.set(session.graph().name(), backend);
  build.math = math;
  build.input = input;
  build.output = output;
  build.stream = &stream;
  return build;
}

std::vector<int64_t> bench_batches(const ModelBenchOptions& options, const Session& session) {
  if (!options.batch_sizes.empty()) return options.batch_sizes;
  if (options.latency) return {1, 8, 64};
  std::vector<int64_t> batches;
  const bool cuda = session.device().is_cuda();
  int64_t largest = cuda ? kMaxOnGpu : kMaxOnCpu;
  if (!session.graph().network()) {
    const double fitting = (cuda ? kPassFlopsOnGpu : kPassFlopsOnCpu) / flops_of(session.graph());
    largest = static_cast<int64_t>(std::clamp(fitting, 1.0, static_cast<double>(largest)));
  }
  for (int64_t batch = 1; batch <= largest; batch *= 4) batches.push_back(batch);
  return batches;
}

ModelBenchOptions with_saved_plan(ModelBenchOptions options) {
  for (const std::string& plan : options.plans) {
    if (plan == Plan::kLayered || plan == Plan::kFused) continue;
    if (options.plans.size() > 1 || !ends_with(plan, ".json")) {
      throw UsageError(concat("--plan expects layered, fused or both, or one plan saved as .json, found '",
                              printable_excerpt(plan), "'"));
    }
    options.plan = plan;
  }
  return options;
}

std::vector<BenchConfig> bench_configs(const ModelBenchOptions& options, const Session& session,
                                       int64_t batch) {
  if (const Plan* const saved = session.setup().saved_plan()) {
    const std::string backend = saved->execution == Plan::kFused ? saved->layers.at(0).backend : "";
    return at_places({{batch, saved->execution, backend, false, saved->math(), saved->input, saved->output}},
                     options);
  }
  const Device device = session.device();
  const Graph& graph = session.graph();
  if (!options.backends.empty() && !graph.network()) {
    throw UsageError(concat("--backend names whole-network backends here, and ", graph.name(),
                            " has none; lenslet profile --backend and lenslet tune time its layers"));
  }
  if (!holds<std::string>(options.plans, Plan::kLayered)) check_whole_network(graph);
  if (options.backends.size() > 1 && holds<std::string>(options.backends, kAllBackends))
    throw UsageError(
        concat("--backend: ", kAllBackends, " stands alone, found '", joined(options.backends, ","), "'"));
  for (const std::string& name : options.backends) {
    if (name != kAllBackends) (void)network_backend(name, session.graph(), device.kind);
  }
  std::vector<BenchConfig> configs;
  for (const MathMode math : maths_of(options, device)) {
    for (const ElementType input : options.inputs) {
      for (const ElementType output : options.outputs) {
        const BenchConfig base{batch, Plan::kLayered, "", false, math, input, output};
        const bool layered = input == ElementType::kFp32 && output == ElementType::kFp32;
        if (layered && holds<std::string>(options.plans, Plan::kLayered)) configs.push_back(base);
        if (session.graph().network() && holds<std::string>(options.plans, Plan::kFused))
          add_fused(options, session.graph(), base, device, configs);
      }
    }
  }
  if (configs.empty()) {
    throw UsageError(
        "nothing is left to measure: the layered plan reads and writes only fp32; add --plan fused, or "
        "--input fp32 and --output logits");
  }
  return at_places(configs, options);
}

ResultRow bench_row(const BenchConfig& config, const ModelBenchOptions& options, const Session& session) {
  const bool fused = config.plan == Plan::kFused;
  ResultRow row;
  row.name = session.graph().name();
  row.backend = fused ? config.backend : config.plan;
  row.math = to_string(config.math);
  row.layout.clear();
  row.images = config.batch;
  row.labels = {{"plan", config.plan},
                {"input", to_string(config.input)},
                {"output", output_name(config.output)},
                {"batch", std::to_string(config.batch)}};
  if (!options.latency) row.labels.emplace_back("place", config.place);
  const std::string& file = options.weights_file();
  row.repro = concat(
      "lenslet bench --device ", session.device().to_string(),
      file.empty() ? "" : concat(options.model.empty() ? " --weights " : " --model ", file),
      " --batch-sizes ", config.batch, " --plan ", session.setup().saved_plan() ? options.plan : config.plan,
      config.backend.empty() ? "" : " --backend ", config.backend, " --math ", row.math, " --input ",
      to_string(config.input), " --output ", output_name(config.output), " --seed ", options.seed);
  row.repro += options.latency ? std::string(" --latency") : concat(" --place ", config.place);
  if (options.threads) row.repro += concat(" --threads ", *options.threads);
  return row;
}

}  // namespace lenslet
