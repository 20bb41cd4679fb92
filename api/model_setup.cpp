#include "api/model_setup.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "framework/base/lists.h"
#include "framework/base/text.h"
#include "framework/device/device_health.h"
#include "framework/device/device_list.h"
#include "framework/device/other_device.h"
#include "framework/io/file.h"
#include "models/classifier.h"
#include "models/digit/picture_input.h"
#include "models/fused_lenet5/fold.h"
#include "models/lenet5.h"
#include "models/onnx/network.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

std::optional<Plan> load_plan(const Choices& choices) {
  if (choices.plan == ModelSetup::kAuto || choices.plan == Plan::kLayered || choices.plan == Plan::kFused) {
    return std::nullopt;
  }
  const std::string& prefix = choices.option_prefix;
  if (!ends_with(choices.plan, ".json")) {
    throw UsageError(concat(prefix, "plan expects auto, layered, fused or a plan saved as .json, found '",
                            printable_excerpt(choices.plan), "'"));
  }
  std::vector<std::string> given;
  if (!choices.backend.empty()) given.push_back(prefix + "backend");
  if (choices.math) given.push_back(prefix + "math");
  if (choices.input) given.push_back(prefix + "input");
  if (choices.output) given.push_back(prefix + "output");
  if (!given.empty()) {
    throw UsageError(concat(prefix,
                            "plan FILE replays its own backends, math modes, input and output; leave out ",
                            listed(given, "and")));
  }
  const std::vector<uint8_t> bytes = read_file(choices.plan, Plan::kMaxBytes);
  return Plan::from_json(std::string(bytes.begin(), bytes.end()), printable_excerpt(choices.plan),
                         {ElementType::kFp32, kPrediction});
}

// Only the whole-network plan reads pixels and writes predictions.
void check_ends(const Choices& choices, const Graph& graph) {
  if (choices.fp32_ends() || graph.network()) return;
  const bool input = choices.ends().input != ElementType::kFp32;
  throw UnavailableError(concat(choices.option_prefix, input ? "input " : "output ",
                                to_string(input ? choices.ends().input : choices.ends().output),
                                " needs the whole-network plan, which the model ", graph.name(),
                                " does not have; leave out ", choices.option_prefix,
                                input ? "input" : "output"));
}

DeviceChoices devices_for(const Choices& choices, const std::optional<Plan>& plan) {
  if (plan && choices.device == ModelSetup::kAuto)
    return {{choose_device(plan->device).device}, "the plan was made for this device"};
  if (choices.several_devices) return choose_devices(choices.device);
  DeviceChoice choice = choose_device(choices.device);
  return {{choice.device}, std::move(choice.reason)};
}

std::string name_of(Device device) {
  if (!device.is_cuda()) return cpu_model();
  return cuda_status().devices.at(static_cast<size_t>(device.ordinal)).name;
}

// One for all channels, or one for each, where the metadata list them.
std::vector<Normalisation> metadata_normalisations(const std::map<std::string, std::string>& metadata,
                                                   const Normalisation& fallback, int64_t channels,
                                                   const std::string& origin) {
  std::map<std::string, std::vector<std::string>> parts;
  size_t count = 1;
  for (const char* name : {"mean", "std"}) {
    const auto found = metadata.find(name);
    if (found == metadata.end()) continue;
    const std::vector<std::string>& values = parts[name] = split(found->second, ",");
    if (values.size() != 1 && static_cast<int64_t>(values.size()) != channels)
      throw DataError(concat(origin, ": its metadata have ", name, " \"", printable_excerpt(found->second),
                             "\", expected one number, or one for each of its ", channels, " channels"));
    count = std::max(count, values.size());
  }
  std::vector<Normalisation> normalisations;
  for (size_t c = 0; c < count; ++c) {
    std::map<std::string, std::string> of_channel;
    for (const auto& [name, values] : parts) of_channel[name] = values[values.size() == 1 ? 0 : c];
    normalisations.push_back(metadata_normalisation(of_channel, fallback, origin));
  }
  return normalisations;
}

void state_normalisation(const Normalisation& normalisation, Safetensors& weights) {
  const auto text = [](float value) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  weights.metadata["mean"] = text(normalisation.mean());
  weights.metadata["std"] = text(normalisation.std());
}

}  // namespace

GraphUse parse_graph_use(const std::string& text, const std::string& prefix) {
  for (const GraphUse use : {GraphUse::kAuto, GraphUse::kOn, GraphUse::kOff}) {
    if (text == to_string(use)) return use;
  }
  throw UsageError(concat(prefix, "graph expects auto, on or off, found '", printable_excerpt(text), "'"));
}

Safetensors load_lenet5_weights(const std::string& weights) {
  if (weights == kRobustWeights) return builtin_lenet5_weights(BuiltinWeights::kRobust);
  if (names_builtin_weights(weights)) return builtin_lenet5_weights();
  // A bare word is more often a misspelt set than a missing file.
  std::error_code ignored;
  if (weights.find_first_of("./") == std::string::npos && !std::filesystem::exists(weights, ignored)) {
    throw DataError(concat(printable_excerpt(weights),
                           ": neither a file nor a built-in set of weights; the built-in sets are ",
                           kMnistWeights, " and ", kRobustWeights));
  }
  if (!ends_with(weights, ".onnx")) return read_safetensors(weights);
  std::optional<Safetensors> lenet5 = onnx::read_network(weights).lenet5;
  if (lenet5) return std::move(*lenet5);
  throw DataError(concat(printable_excerpt(weights), ": it is another network than LeNet-5"));
}

Normalisation ChosenNormalisation::over(const Normalisation& own) const {
  return {static_cast<float>(mean.value_or(own.mean())), static_cast<float>(std.value_or(own.std()))};
}

std::string Network::title() const {
  return graph.network() ? std::string("LeNet-5") : printable_excerpt(graph.name());
}

std::shared_ptr<const Network> load_network(const std::string& weights, const ChosenNormalisation& chosen) {
  const std::string origin = weights == kRobustWeights        ? "built-in weights, robust set"
                             : names_builtin_weights(weights) ? "built-in weights"
                                                              : weights;
  const std::string shown = printable_excerpt(origin);
  const auto lenet5 = [&](const Safetensors& tensors) {
    return Network{origin, lenet5_energy_threshold(tensors, shown), make_lenet5(tensors, shown), {}, {}, {}};
  };
  if (names_builtin_weights(weights) || !ends_with(weights, ".onnx"))
    return std::make_shared<const Network>(lenet5(load_lenet5_weights(weights)));
  onnx::NetworkFile read = onnx::read_network(weights);
  if (read.lenet5) {
    if (chosen.any()) {
      const Normalisation normalisation = chosen.over(lenet5_normalisation(*read.lenet5, shown));
      check_foldable(normalisation);
      state_normalisation(normalisation, *read.lenet5);
    }
    Network network = lenet5(*read.lenet5);
    if (read.input_shape) network.graph.state_input_shape(*read.input_shape);
    network.external_files = std::move(read.external_files);
    network.note = std::move(read.note);
    return std::make_shared<const Network>(std::move(network));
  }
  // Unless the file states another normalisation, digits in PyTorch's order are those of MNIST, and pixels / 255 in
  // Keras's, as the examples of both normalise them.
  const Shape& sample = read.graph->input_shape();
  const bool normalised = reads_digits(*read.graph) && sample.rank() == 3 && sample[0] == 1;
  const Normalisation usual = normalised ? Normalisation(kMnistMean, kMnistStd) : Normalisation();
  const std::optional<PictureLayout> layout = picture_layout(sample);
  const int64_t planes = layout ? layout->channels : sample.rank() > 0 ? sample[0] : 1;
  std::vector<Normalisation> channels = metadata_normalisations(read.metadata, usual, planes, shown);
  for (Normalisation& channel : channels) channel = chosen.over(channel);
  if (channels.size() == 1) {
    read.graph->set_normalisation(channels[0]);
    channels.clear();
  }
  return std::make_shared<const Network>(Network{origin, std::nullopt, std::move(*read.graph),
                                                 std::move(channels), std::move(read.external_files),
                                                 std::move(read.note)});
}

void check_reads_digits(const Network& network, const std::string& what, const char* remedy) {
  if (const std::string fault = fault_of_shares(network.graph); !fault.empty())
    throw DataError(concat(printable_excerpt(network.origin), ": ", what,
                           " takes networks of which one class is the answer; ", fault, remedy));
  if (reads_digits(network.graph)) return;
  throw DataError(concat(printable_excerpt(network.origin), ": ", what, " takes networks that read ",
                         kLenet5Side, "x", kLenet5Side, " images and have ", kLenet5Classes,
                         " classes; this one reads ", network.graph.input_shape().to_string(), " and writes ",
                         network.graph.output_shape().to_string(), remedy));
}

BackendSpec network_backend(const std::string& name, const Graph& graph, DeviceKind kind,
                            const std::string& prefix) {
  if (graph.network() && name.find_first_of("=,") != std::string::npos) {
    throw UsageError(concat(prefix, "plan fused computes all layers at once, so ", prefix,
                            "backend names one whole-network backend, found '", printable_excerpt(name),
                            "'; there are: ", comma_list(graph.network()->backends(kind))));
  }
  BackendSpec spec = BackendSpec::parse(name);
  if (graph.whole()) (void)spec.resolve(*graph.whole(), kind);
  return spec;
}

bool supports(InputOutput pass, InputOutput call) noexcept {
  return (call.input != ElementType::kFp32 || pass.input == ElementType::kFp32) &&
         (pass.output == call.output || pass.output == ElementType::kFp32);
}

InputOutput check_plan_supports(const Plan& plan, InputOutput call) {
  const InputOutput pass{plan.input, plan.output};
  if (supports(pass, call)) return pass;
  throw DataError(concat(plan.origin, ": the plan reads ", to_string(pass.input), " and writes ",
                         to_string(pass.output), "; this call passes ", to_string(call.input),
                         " and expects ", call.output == ElementType::kFp32 ? "logits" : "predictions"));
}

ModelSetup::ModelSetup(const Choices& choices) : ModelSetup(choices, nullptr, {}) {}

ModelSetup::ModelSetup(const Choices& choices, const ChosenNormalisation& normalisation)
    : ModelSetup(choices, nullptr, normalisation) {}

ModelSetup::ModelSetup(const Choices& choices, const ModelSetup& weights)
    : ModelSetup(choices, weights.network_, {}) {}

ModelSetup::ModelSetup(const Choices& choices, std::shared_ptr<const Network> network,
                       const ChosenNormalisation& normalisation)
    : choices_(choices),
      saved_(load_plan(choices)),
      network_(network ? std::move(network) : load_network(choices.weights_file(), normalisation)) {
  if (saved_) saved_->check_is_for(graph().name());
  check_ends(choices, graph());
  DeviceChoices choice = devices_for(choices, saved_);
  devices_ = std::move(choice.devices);
  if (choices.device == kAuto) device_reason_ = choice.reason;
  if (choices.graph == GraphUse::kOn && !device().is_cuda()) {
    throw UsageError(
        concat(choices.option_prefix,
               "graph on needs a CUDA device; the CPU has no graphs to capture: choose auto or off"));
  }
  if (choices.backend.empty()) return;
  if (choices.plan == Plan::kFused) {
    backends_ = network_backend(choices.backend, graph(), device().kind, choices.option_prefix);
  } else {
    backends_ = BackendSpec::parse(choices.backend);
    (void)backends_.resolve(graph(), device().kind);  // an invalid name is refused before anything is built
  }
}

ModelSetup::ModelSetup(const ModelSetup& other, std::vector<Device> devices)
    : choices_(other.choices_),
      saved_(other.saved_),
      network_(other.network_),
      devices_(std::move(devices)),
      backends_(other.backends_) {}

std::string ModelSetup::device_name() const {
  std::vector<std::string> names;
  for (const Device device : devices_) names.push_back(name_of(device));
  if (names.size() == 1) return names.front();
  if (std::count(names.begin(), names.end(), names.front()) == static_cast<std::ptrdiff_t>(names.size()))
    return concat(names.size(), " x ", names.front());
  return comma_list(names);
}

bool ModelSetup::whole_network_supports(int64_t batch, InputOutput io) const {
  const Layer* const network = graph().network();
  if (!network) return false;
  const OperatorRequest request = graph().network_request(device(), batch, math(), io.input, io.output);
  // With the layered plan `backends_` names backends of layers.
  const BackendEntry* const requested =
      choices_.plan == Plan::kFused ? backends_.resolve(*graph().whole(), device().kind).back() : nullptr;
  if (requested) return static_cast<bool>(network->supports(*requested, request));
  return network->preferred_entry(request) != nullptr;
}

std::string ModelSetup::execution(int64_t batch, InputOutput io) const {
  if (saved_) return saved_->execution;
  if (choices_.plan != kAuto) return choices_.plan;
  if (!choices_.backend.empty()) return Plan::kLayered;
  if (io.input != ElementType::kFp32 || io.output != ElementType::kFp32) return Plan::kFused;
  return !device().is_cuda() && whole_network_supports(batch, io) ? Plan::kFused : Plan::kLayered;
}

InputOutput ModelSetup::pass_for(int64_t batch, InputOutput call) const {
  if (saved_) return check_plan_supports(*saved_, call);
  const InputOutput plain;
  const InputOutput wishes[] = {call, {plain.input, call.output}, {call.input, plain.output}};
  for (const InputOutput& wish : wishes) {
    if (execution(batch, wish) == Plan::kFused && whole_network_supports(batch, wish)) return wish;
  }
  return plain;
}

BuildOptions ModelSetup::build_options(int64_t batch, InputOutput io) const {
  BuildOptions build;
  build.device = device();
  build.batch = batch;
  build.math = math();
  build.backends = backends_;
  build.execution = execution(batch, io);
  build.input = io.input;
  build.output = io.output;
  build.plan = saved_plan();
  build.workspace_limit = choices_.workspace_limit;
  return build;
}

BuildOptions ModelSetup::call_options(int64_t batch, InputOutput io) const {
  BuildOptions build = build_options(batch, io);
  build.cuda_graph = replays(build);
  return build;
}

bool ModelSetup::replays(const BuildOptions& pass, GraphUse graph) {
  if (graph != GraphUse::kAuto) return graph == GraphUse::kOn;
  return pass.device.is_cuda() && pass.execution == Plan::kLayered && pass.batch <= kMaxReplayed &&
         !checks_layers();
}

BuildOptions ModelSetup::profile_options(int64_t batch, InputOutput io) const {
  BuildOptions build = build_options(batch, io);
  const bool plain = io.input == ElementType::kFp32 && io.output == ElementType::kFp32;
  if (!saved_ && choices_.plan == kAuto && plain) build.execution = Plan::kLayered;
  return build;
}

}  // namespace lenslet
