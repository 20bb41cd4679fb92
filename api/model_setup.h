// ModelSetup: converts a caller's choices to a graph with weights, a device and the BuildOptions of an Executable. The
// command line's Session and the embedded Model both use it. Internal: programs use Model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/execution/executable.h"
#include "framework/execution/plan.h"
#include "framework/graph/graph.h"
#include "framework/io/safetensors.h"

namespace lenslet {

/// Largest batch that a user may request.
inline constexpr int64_t kMaxModelBatch = 1 << 20;
/// Samples of the largest pass that GraphUse::kAuto replays as a captured CUDA graph.
inline constexpr int64_t kMaxReplayed = 256;

/// Which passes of repeated calls are captured as a CUDA graph and replayed: those for which that is faster, each, or
/// none.
enum class GraphUse { kAuto, kOn, kOff };
/// "auto", "on" or "off".
inline const char* to_string(GraphUse use) noexcept {
  return use == GraphUse::kOn ? "on" : use == GraphUse::kOff ? "off" : "auto";
}
/// The reverse. Throws UsageError; `prefix` as Choices::option_prefix.
GraphUse parse_graph_use(const std::string& text, const std::string& prefix);

/// The names of the built-in sets of weights, where a file may stand; a file of that name is "./robust". An empty one
/// means the first.
inline constexpr const char* kMnistWeights = "mnist";
inline constexpr const char* kRobustWeights = "robust";
inline bool names_builtin_weights(const std::string& weights) {
  return weights.empty() || weights == kMnistWeights || weights == kRobustWeights;
}

/// What a run reads and writes.
struct InputOutput {
  ElementType input = ElementType::kFp32;   // what a pass reads
  ElementType output = ElementType::kFp32;  // what a pass writes
};
/// Whether `pass` can answer `call`: pixels can be packed, unpacked and normalised, and logits converted to
/// predictions, but values cannot become pixels, nor predictions logits.
bool supports(InputOutput pass, InputOutput call) noexcept;
/// The types of a pass of `plan`. Throws DataError unless it can answer `call`.
InputOutput check_plan_supports(const Plan& plan, InputOutput call);

/// Mean and standard deviation of pixels / 255 that a caller states instead of an ONNX file's metadata.
struct ChosenNormalisation {
  std::optional<double> mean, std;  // none: the file's
  bool any() const noexcept { return mean || std; }
  /// The file's normalisation with what is stated in its place.
  Normalisation over(const Normalisation& own) const;
};

/// A caller's choices of device, plan, backend and arithmetic, with the values of the command line.
struct Choices {
  std::string device = "auto";   // as ModelOptions has it
  bool several_devices = false;  // `device` may name several
  std::string plan = "auto";     // or "layered", "fused", FILE.json
  std::string backend;           // a BackendSpec, or with plan "fused" a whole-network backend; empty: auto
  std::optional<MathMode> math;  // none: fp32, or the plan file's mode
  std::optional<ElementType> input, output;  // none: fp32, or the plan file's types
  std::string weights;                       // path of a safetensors file, or a set's name (kMnistWeights)
  std::string model;                         // path of an ONNX file, instead of weights
  size_t workspace_limit = SIZE_MAX;         // bytes, for each layer
  GraphUse graph = GraphUse::kAuto;          // kOn: refused on the CPU
  std::string option_prefix = "--";          // precedes the names of options in messages

  /// The file that the weights are read from; empty: the built-in ones.
  const std::string& weights_file() const { return model.empty() ? weights : model; }
  InputOutput ends() const {
    return {input.value_or(ElementType::kFp32), output.value_or(ElementType::kFp32)};
  }
  /// Whether a pass reads and writes fp32, as the layered plan does.
  bool fp32_ends() const { return ends().input == ElementType::kFp32 && ends().output == ElementType::kFp32; }
};

/// A network with its weights.
struct Network {
  std::string origin;  // "built-in weights", "built-in weights, robust set" or the file's name
  /// An image whose energy is not above this shows no digit; none if the weights file has no such entry.
  std::optional<double> energy_threshold;
  Graph graph;
  std::vector<Normalisation> channels;  // of pictures, one per channel; empty: the graph's, for all channels
  std::vector<std::string> external_files;  // of an ONNX file: those that hold weights beside it
  std::string note;                         // what a user should know of the file; usually empty
  /// "LeNet-5", or the graph's name.
  std::string title() const;
};
/// The network of a built-in set or a file: of an ONNX file if the name ends in .onnx, else LeNet-5 with the weights of
/// a safetensors file. `chosen` is for ONNX files. Throws DataError.
std::shared_ptr<const Network> load_network(const std::string& weights,
                                            const ChosenNormalisation& chosen = {});

/// Throws DataError unless the network reads digits as LeNet-5 does. `what` begins the message: "lenslet eval";
/// `remedy` ends it.
void check_reads_digits(const Network& network, const std::string& what, const char* remedy = "");

/// The choices of an option list, checked and completed: weights, network, device, plan. Models are made from it.
class ModelSetup {
 public:
  static constexpr const char* kAuto = "auto";  // the word for "choose" of device and plan

  /// Loads the plan's file and the weights, chooses the device; starts CUDA only for a CUDA device. Throws UsageError,
  /// DataError or UnavailableError.
  explicit ModelSetup(const Choices& choices);
  /// Like the constructor above, with another normalisation than an ONNX file's.
  ModelSetup(const Choices& choices, const ChosenNormalisation& normalisation);
  /// Shares the weights of another one; ignores choices.weights_file().
  ModelSetup(const Choices& choices, const ModelSetup& weights);
  /// Copies the choices for these devices (at least one, not checked) and shares the weights.
  ModelSetup(const ModelSetup& other, std::vector<Device> devices);
  ModelSetup(const ModelSetup&) = delete;  // executables refer to its graph
  ModelSetup& operator=(const ModelSetup&) = delete;

  /// Where the model computes; of several devices the first.
  Device device() const noexcept { return devices_.front(); }
  /// All of them.
  const std::vector<Device>& devices() const noexcept { return devices_; }
  /// Why `auto` took this device; empty if it was requested by name.
  const std::string& device_reason() const noexcept { return device_reason_; }
  /// "NVIDIA H200" or the CPU's model; of several devices "2 x NVIDIA H200", or each name if they differ.
  std::string device_name() const;
  /// The network, shared with models of other options.
  const Network& network() const noexcept { return *network_; }
  const Graph& graph() const noexcept { return network_->graph; }
  /// "built-in weights", "built-in weights, robust set" or the file's name.
  const std::string& weights_origin() const noexcept { return network_->origin; }
  /// As Network::energy_threshold.
  std::optional<double> energy_threshold() const noexcept { return network_->energy_threshold; }
  /// The requested mode; of a replayed plan the least exact mode of its layers.
  MathMode math() const noexcept { return saved_ ? saved_->math() : choices_.math.value_or(MathMode::kFp32); }
  /// The replayed plan; null if there is none.
  const Plan* saved_plan() const noexcept { return saved_ ? &*saved_ : nullptr; }

  /// Whether a whole-network backend supports that: the requested one, else any.
  bool whole_network_supports(int64_t batch, InputOutput io) const;
  /// Plan::kLayered or Plan::kFused, from the plan file or the choices. `auto` takes layered if a backend is requested;
  /// else fused if only fused supports the input or output, or on the CPU if one supports the request; else
  /// layered.
  std::string execution(int64_t batch, InputOutput io) const;
  /// The types of the pass for `call`: its own if the plan supports them, else the nearest that can answer it. Throws
  /// DataError if a replayed plan cannot.
  InputOutput pass_for(int64_t batch, InputOutput call) const;
  /// Options for an Executable. They refer to this object, which must live while the Executable is built.
  BuildOptions build_options(int64_t batch, InputOutput io) const;
  /// Like build_options(), for a pass that calls repeat, with replays() as cuda_graph.
  BuildOptions call_options(int64_t batch, InputOutput io) const;
  /// Whether calls replay such a pass as a captured CUDA graph, by the choice `graph`.
  bool replays(const BuildOptions& pass) const { return replays(pass, choices_.graph); }
  /// Whether calls replay such a pass by `graph` instead. kAuto: on a GPU the kernels of up to kMaxReplayed samples,
  /// layer by layer, run for less time than they take to launch, or little more; not with LENSLET_CHECK_LAYERS=1, which
  /// waits for each layer.
  static bool replays(const BuildOptions& pass, GraphUse graph);
  /// Like build_options(), for a profile: if plan and backend are `auto` and the pass reads and writes fp32, it is
  /// layered, because the whole network at once has a single time.
  BuildOptions profile_options(int64_t batch, InputOutput io) const;

 private:
  ModelSetup(const Choices& choices, std::shared_ptr<const Network> network,
             const ChosenNormalisation& normalisation);

  Choices choices_;
  std::optional<Plan> saved_;
  std::shared_ptr<const Network> network_;
  std::vector<Device> devices_;
  std::string device_reason_;
  BackendSpec backends_;
};

/// The weights of that built-in set or file: ONNX if its name ends in .onnx, else safetensors. Throws DataError, also
/// for an ONNX file of another network.
Safetensors load_lenet5_weights(const std::string& weights);

/// The backend `name` of the whole network. Throws UsageError if there is none, with the nearest match and all of them;
/// UnavailableError if only the other kind of device has it. `prefix` as Choices::option_prefix.
BackendSpec network_backend(const std::string& name, const Graph& graph, DeviceKind kind,
                            const std::string& prefix = "--");

}  // namespace lenslet
