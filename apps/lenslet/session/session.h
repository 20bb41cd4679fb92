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
  /// "cuda:0 (NVIDIA H200), taken because …", "cuda:0,2 (2 x NVIDIA H200)".
  std::string describe_device() const;

  /// Everything else that the options chose.
  const ModelSetup& setup() const noexcept { return *setup_; }
  /// Throws DataError if the replayed plan does not write logits.
  void check_plan_writes_logits() const;
  /// The batch size of --batch-size or of the plan, else `fallback`.
  int64_t batch_or(int64_t fallback) const;
  /// Options to build with, of the types of --input and --output; the caller may modify them.
  BuildOptions build_options(int64_t batch) const { return setup_->build_options(batch, options_.ends()); }
  /// ModelSetup::call_options(), of the types of --input and --output.
  BuildOptions call_options(int64_t batch) const { return setup_->call_options(batch, options_.ends()); }
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
