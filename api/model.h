// Model: LeNet-5 with its weights on one device, ready to answer batches of any size. What the C interface (lenslet.h), the
// Python package and C++ programs embed; the command line is built on the same parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/device.h"
#include "framework/math_mode.h"
#include "framework/normalization.h"
#include "framework/plan.h"
#include "framework/tensor.h"

namespace lenslet {

/// Where and how a Model computes. The words are those of the command line (docs and `lenslet --help`).
struct ModelOptions {
  std::string device = "auto";  // "auto", "cpu", "cuda" or "cuda:N"
  std::string plan = "auto";    // "auto", "layered", "fused", or the path of a plan saved as .json
  std::string backend;  // "direct", "conv1=direct,conv2=winograd"; with plan "fused" one of its variants
  std::string math = "fp32";          // "fp32", "tf32" or "fp16"
  size_t workspace_limit = SIZE_MAX;  // bytes, for each layer
  int64_t max_batch =
      0;  // images computed in one pass, more are cut into passes; 0: 1,024 on the CPU, 65,536 on a GPU
};

/// Median device time of one layer of a pass, or of the whole pass where the plan is fused.
struct LayerTime {
  std::string name;      // "conv1", or "lenet5" of a fused plan
  std::string backend;   // the code that ran
  std::string math;      // "fp32"; empty where it means nothing
  double median_ns = 0;  // over the passes measured
  double p10_ns = 0;     // a tenth of the passes were faster
  double p90_ns = 0;     // a tenth were slower
};

/// One pass of a given batch, layer by layer; measured as framework/profiler.h says.
struct ModelProfile {
  std::string device;             // "cuda:0"
  std::string plan;               // "layered" or "fused"
  int64_t batch = 0;              // images of the pass
  double total_ns = 0;            // a pass without the events between the layers
  std::vector<LayerTime> layers;  // in the order they run
};

/// One backend that a layer could take.
struct BackendChoice {
  std::string layer;    // "conv1"; the model's name for a variant of the fused plan
  std::string backend;  // "direct"
  std::string reason;   // why it cannot serve; empty where it can
};

/// Not thread-safe: one thread at a time for one Model; different Models may run in different threads, also on one device.
class Model {
 public:
  /// `path` names a safetensors file with LeNet-5's tensors (weights/FORMAT.md). Throws DataError for a file that is not
  /// one, UsageError for options that say nothing, UnavailableError for a device, backend or math mode that cannot serve.
  static Model load(const std::string& path, const ModelOptions& options = {});
  /// With the weights compiled into the library.
  static Model built_in(const ModelOptions& options = {});

  /// The same weights under other options, which share them in memory. Throws what load() throws.
  Model with_options(const ModelOptions& options) const;

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Class 0..9 and its probability for each of `count` images; 0 images are allowed. Throws MemoryError, DeviceError.
  /// `pixels` [count, 28, 28]: bytes, ink bright on 0, in host memory; on the CPU they are read where they lie.
  void predict(const uint8_t* pixels, int64_t count, Prediction* predictions);
  /// `images` [count, 28, 28]: normalised as normalization() says; for the built-in weights (x / 255 - 0.1307) / 0.3081.
  void predict(const float* images, int64_t count, Prediction* predictions);
  /// The 10 values before softmax, `logits` [count, 10], in host memory.
  void logits(const uint8_t* pixels, int64_t count, float* logits);
  /// Of normalised images.
  void logits(const float* images, int64_t count, float* logits);

  /// Longest time to ask profile() for: ten minutes.
  static constexpr double kMaxProfileMs = 600000;
  /// Times a pass of `batch` random images, for at least `min_time_ms` of it, as plan() describes it. Throws UsageError for a
  /// batch outside 1..1,048,576 and a time outside 0..kMaxProfileMs. `stop` is called between passes: it may return true, to
  /// end with the passes so far, or throw.
  ModelProfile profile(int64_t batch, double min_time_ms = 100, std::function<bool()> stop = {}) const;

  /// Where it computes.
  Device device() const noexcept;
  /// "NVIDIA H200", or the CPU's model.
  std::string device_name() const;
  /// How these weights want pixels normalised: as their file says, else as MNIST's.
  const Normalization& normalization() const noexcept;
  /// The plan that a pass of that batch takes for bytes in and predictions out.
  Plan plan(int64_t batch);
  /// Every backend that each layer could take for such a pass on this device, in rank order, and every variant of the fused
  /// plan.
  std::vector<BackendChoice> backends(int64_t batch) const;

 private:
  class State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lenslet
