// From options to an executable: device, threads, weights, plan.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/model_setup.h"
#include "apps/common/output/output.h"
#include "apps/common/system/environment.h"
#include "apps/lenslet/session/options.h"
#include "apps/lenslet/session/shares.h"
#include "framework/device/device_list.h"
#include "framework/execution/executable.h"
#include "framework/execution/plan.h"

namespace lenslet {

/// Files that the common options read (--weights and the plan); Console keeps outputs from overwriting them.
std::vector<NamedFile> files_read(const CommonOptions& options);
/// The external data files that an ONNX file names; known once it is read.
std::vector<NamedFile> external_files_of(const Network& network);

/// The device, the model and the choices of the common options.
class Session {
 public:
  /// Throws UsageError, DataError or UnavailableError. Loads the weights; initialises CUDA only for a CUDA device.
  /// `console` keeps outputs from overwriting the external data of an ONNX file.
  Session(const CommonOptions& options, const Console& console);
  /// Like the constructor above, with another normalisation than an ONNX file's.
  Session(const CommonOptions& options, const Console& console, const ChosenNormalisation& normalisation);
  /// Uses a setup whose choices are made and whose weights are loaded. `options` must outlive this.
  Session(const CommonOptions& options, std::shared_ptr<const ModelSetup> setup)
      : options_(options), setup_(std::move(setup)) {}

  /// The device that computes; of several the first.
  Device device() const noexcept { return setup_->device(); }
  const std::vector<Device>& devices() const noexcept { return setup_->devices(); }
  /// "cuda:0" or "cuda:0,2".
  std::string device_list() const { return lenslet::device_list(devices()); }
  std::string device_name() const { return setup_->device_name(); }
  const Graph& graph() const noexcept { return setup_->graph(); }
  MathMode math() const noexcept { return setup_->math(); }
  const Network& network() const noexcept { return setup_->network(); }
  const std::string& weights_origin() const noexcept { return setup_->weights_origin(); }
  std::optional<double> energy_threshold() const noexcept { return setup_->energy_threshold(); }
  /// "cuda:0 (NVIDIA H200), taken because …", "cuda:0,2 (2 x NVIDIA H200)".
  std::string describe_device() const;

  /// ModelSetup::whole_network_supports().
  bool whole_network_supports(int64_t batch, InputOutput io) const {
    return setup_->whole_network_supports(batch, io);
  }
  /// The plan to replay; null if there is none.
  const Plan* saved_plan() const { return setup_->saved_plan(); }
  /// Throws DataError if the replayed plan does not write logits.
  void check_plan_writes_logits() const;
  /// The batch size of --batch-size or of the plan, else `fallback`.
  int64_t batch_or(int64_t fallback) const;
  /// ModelSetup::pass_for().
  InputOutput pass_for(int64_t batch, InputOutput call) const { return setup_->pass_for(batch, call); }
  /// Options to build with, of the types of --input and --output; the caller may modify them.
  BuildOptions build_options(int64_t batch) const;
  /// Options to build with, of the types `ends`.
  BuildOptions build_options(int64_t batch, InputOutput ends) const;
  /// ModelSetup::call_options(), of the types of --input and --output, or of these.
  BuildOptions call_options(int64_t batch) const;
  BuildOptions call_options(int64_t batch, InputOutput ends) const;
  /// ModelSetup::replays().
  bool replays(const BuildOptions& pass) const { return setup_->replays(pass); }
  /// A single-pass model built with `pass`.
  Model model(const BuildOptions& pass) const { return Model(setup_, pass); }
  /// A model of these weights that chooses its passes, as programs that embed it have it.
  Model model(const ModelOptions& options) const { return Model::of_setup(*setup_, options); }
  /// A single-pass model built with call_options() for `batch` images. Writes the plan if --save-plan is given.
  Model model(int64_t batch) const { return saving_plan(call_options(batch)); }
  /// Like model(batch), built with ModelSetup::profile_options().
  Model profiled_model(int64_t batch) const;

 private:
  Model saving_plan(const BuildOptions& build) const;

  const CommonOptions& options_;
  std::shared_ptr<const ModelSetup> setup_;
};

/// A device to report on.
struct Target {
  Device device;
  bool usable = true;   // whether work can run on the device
  std::string why_not;  // empty if it is usable
};
/// The device of that name; for `auto` the CPU and, in a build with CUDA, the GPU, usable or not.
std::vector<Target> targets_for(const std::string& device);

/// "conv1 direct, pool1 direct, …": the code that runs, without layers fused into others. For a plan that computes all
/// layers together "fused BACKEND", with input and output types other than fp32.
std::string describe_backends(const Plan& plan);

}  // namespace lenslet
