// From options to something that runs: device, threads, weights, plan, executable.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/lenslet/options.h"
#include "framework/executable.h"
#include "framework/graph.h"
#include "framework/plan.h"

namespace lenslet {

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
  MathMode math() const noexcept { return options_.math.value_or(MathMode::kFp32); }
  /// Where the weights come from, for people: "built-in weights" or the file's name.
  const std::string& weights_origin() const noexcept { return weights_origin_; }
  /// "cuda:0 (NVIDIA H200), taken because …".
  std::string describe_device() const;

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
  BackendSpec backends_;
};

/// "conv1 direct, pool1 direct, …": the code that runs, fused layers left out.
std::string describe_backends(const Plan& plan);

}  // namespace lenslet
