// ModelSetup: from the words that say what runs and where to LeNet-5 with its weights, a device and the choices an
// Executable is built with. The command line's Session and the embedded Model both stand on it. Internal: programs use Model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "framework/executable.h"
#include "framework/graph.h"
#include "framework/io/safetensors.h"
#include "framework/plan.h"

namespace lenslet {

/// Largest batch that a person may ask for: beyond it sizes are typing errors.
inline constexpr int64_t kMaxModelBatch = 1 << 20;

/// The words, as the command line spells them; Model and Session say where theirs come from.
struct SetupOptions {
  std::string device = "auto";   // as ModelOptions has it
  std::string plan = "auto";     // or "layered", "fused", FILE.json
  std::string backend;           // a BackendSpec, or with plan "fused" one of its variants; empty: auto
  std::optional<MathMode> math;  // none: fp32, or what the plan's file says
  bool typed_io = false;         // an input or output type was asked for, which a plan's file brings itself
  std::string weights;           // path of a safetensors file; empty: the built-in ones
  size_t workspace_limit = SIZE_MAX;  // bytes, for each layer
  std::string option_prefix = "--";   // stands before the names of options in messages
};

/// What a run reads and writes.
struct InputOutput {
  ElementType input = ElementType::kFp32;   // what a pass reads
  ElementType output = ElementType::kFp32;  // what a pass writes
};

class ModelSetup {
 public:
  static constexpr const char* kAuto = "auto";  // the word for "choose" of device and plan

  /// Loads the plan's file and the weights, chooses the device; starts CUDA only for a CUDA device. Throws UsageError,
  /// DataError or UnavailableError.
  explicit ModelSetup(const SetupOptions& options);
  /// With the weights of another one; options.weights is not looked at.
  ModelSetup(const SetupOptions& options, const ModelSetup& weights);
  ModelSetup(const ModelSetup&) = delete;  // executables refer to its graph
  ModelSetup& operator=(const ModelSetup&) = delete;

  /// Where the model computes.
  Device device() const noexcept { return device_; }
  /// Why `auto` took this device; empty where it was asked for by name.
  const std::string& device_reason() const noexcept { return device_reason_; }
  /// "NVIDIA H200" or the CPU's model.
  std::string device_name() const;
  /// The network, shared with models of other options.
  const Graph& graph() const noexcept { return *graph_; }
  /// "built-in weights" or the file's name.
  const std::string& weights_origin() const noexcept { return weights_origin_; }
  /// What the options ask for; of a plan that is replayed the least exact mode of its layers.
  MathMode math() const noexcept { return saved_ ? saved_->math() : options_.math.value_or(MathMode::kFp32); }
  /// The plan that is replayed; null where none is.
  const Plan* saved_plan() const noexcept { return saved_ ? &*saved_ : nullptr; }

  /// What a variant of the fused plan would be asked for.
  FusedRequest fused_request(int64_t batch, InputOutput io) const;
  /// Whether a variant of the fused plan serves that: the one asked for, else any.
  bool fused_serves(int64_t batch, InputOutput io) const;
  /// Plan::kLayered or Plan::kFused: as the plan's file or the options say. `auto` takes layered where a backend is
  /// asked for; else fused where the input or the output is one that only it has, and on the CPU where a variant serves.
  std::string execution(int64_t batch, InputOutput io) const;
  /// Options to build with; the caller may change them, and keeps this alive while building.
  BuildOptions build_options(int64_t batch, InputOutput io) const;

 private:
  ModelSetup(const SetupOptions& options, std::string weights_origin, std::shared_ptr<const Graph> graph);

  SetupOptions options_;
  std::optional<Plan> saved_;
  std::string weights_origin_;
  std::shared_ptr<const Graph> graph_;
  Device device_;
  std::string device_reason_;
  BackendSpec backends_;
};

/// The weights of that file, the built-in ones for an empty path. Throws DataError.
Safetensors load_lenet5_weights(const std::string& path);

/// Throws UsageError where `name` is no variant of the graph's fused form, with the nearest match and those there are;
/// UnavailableError where only the other kind of device has it. `prefix` as in SetupOptions.
void check_variant(const std::string& name, const Graph& graph, DeviceKind kind,
                   const std::string& prefix = "--");

}  // namespace lenslet
