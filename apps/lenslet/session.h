// From options to something that runs: device, threads, weights, plan, executable.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/lenslet/options.h"
#include "framework/executable.h"
#include "framework/graph.h"
#include "framework/io/safetensors.h"
#include "framework/plan.h"

namespace lenslet {

/// The weights that --weights names, else the built-in ones. Throws DataError.
Safetensors load_weights(const CommonOptions& options);

/// The device, the model and the choices that the common options ask for.
class Session {
 public:
  /// Throws UsageError, DataError or UnavailableError; loads the weights, starts CUDA only for a CUDA device.
  explicit Session(const CommonOptions& options);
  Session(const Session&) = delete;  // executables refer to its graph
  Session& operator=(const Session&) = delete;

  Device device() const noexcept { return device_; }
  /// "NVIDIA H200" or the CPU's model.
  std::string device_name() const;
  const Graph& graph() const noexcept { return graph_; }
  /// What --math asks for; of a plan that is replayed the least exact mode of its layers.
  MathMode math() const noexcept { return plan_ ? plan_->math() : options_.math.value_or(MathMode::kFp32); }
  /// Where the weights come from, for people: "built-in weights" or the file's name.
  const std::string& weights_origin() const noexcept { return weights_origin_; }
  /// "cuda:0 (NVIDIA H200), taken because …".
  std::string describe_device() const;

  /// How a batch of that size is executed, Plan::kLayered or Plan::kFused: as the plan file or --plan says. `auto` takes
  /// fused where the input or the output is one that only it has, and on the CPU where a variant serves and no --backend
  /// is given; else layered.
  std::string execution(int64_t batch) const;
  /// Throws DataError where the plan replayed writes something else than logits.
  void demand_logits() const;
  /// The batch that was asked for, by --batch-size or the plan, else `fallback`.
  int64_t batch_or(int64_t fallback) const;
  /// Options to build with; the caller may change them.
  BuildOptions build_options(int64_t batch) const;
  /// Builds, and writes the plan where --save-plan asks for it.
  std::unique_ptr<Executable> build(int64_t batch) const;

 private:
  const CommonOptions& options_;
  std::optional<Plan> plan_;
  Device device_;
  std::string device_reason_;
  std::string weights_origin_;
  Graph graph_;
  FusedRequest fused_request(int64_t batch) const;
  void check_execution();

  BackendSpec backends_;
};

/// Throws UsageError where `name` is no variant of the graph's fused form, with the nearest match and those there are.
void check_variant(const std::string& name, const Graph& graph, DeviceKind kind);

/// "conv1 direct, pool1 direct, …": the code that runs, layers fused into others left out; "fused VARIANT" of a plan that
/// computes all layers at once, with what it reads and writes where that is not fp32.
std::string describe_backends(const Plan& plan);

}  // namespace lenslet
