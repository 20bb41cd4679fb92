// SharedModel: one set of weights for any number of Python threads, with the choices of each call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/model.h"
#include "api/number_reader.h"
#include "apps/lenslet/pages/model_page.h"
#include "framework/io/picture.h"
#include "python/src/images.h"

namespace lenslet::python {

/// The options of the model that one call overrides.
struct CallOptions {
  std::optional<std::string> plan, backend, math;
};

/// A picture, and the file that it is from, or "picture".
struct NamedPicture {
  Picture picture;
  std::string name;
};

/// Samples in the memory of the model's GPU.
struct GpuSamples {
  const void* values;
  ElementType type;  // kUint8, kUint4 or kFp32
  int64_t count;
  Place place;  // of these and of the answers
};

/// Threads take turns, because a lenslet::Model is not thread-safe. Call every member except the constructor without
/// the GIL. `pause` is called at intervals: it may throw to end the work, and may call any member, as a signal handler
/// does.
class SharedModel {
 public:
  /// From a safetensors file, or with the built-in weights. Throws like Model::load.
  SharedModel(const std::optional<std::string>& path, ModelOptions options);

  const ModelOptions& options() const noexcept { return options_; }
  const std::vector<Device>& devices() const noexcept { return devices_; }
  const Normalisation& normalisation() const noexcept { return model_.normalisation(); }
  Shape input_shape() const { return model_.input_shape(); }
  Shape output_shape() const { return model_.output_shape(); }
  double energy_threshold() const noexcept { return model_.energy_threshold(); }

  /// `labels` [count], `probabilities` [count].
  void predict(const SampleArray& images, const CallOptions& choices, int32_t* labels, float* probabilities,
               const std::function<void()>& pause);
  /// `logits` [count, 10].
  void logits(const SampleArray& images, const CallOptions& choices, float* logits,
              const std::function<void()>& pause);
  /// Like predict() and logits() above, for images in the memory of the model's GPU; enqueues on their stream.
  void predict(const GpuSamples& images, const CallOptions& choices, PredictionArrays answers);
  void logits(const GpuSamples& images, const CallOptions& choices, float* logits);
  /// `outputs` [count, output_shape()].
  void run(const SampleArray& inputs, const CallOptions& choices, float* outputs,
           const std::function<void()>& pause);
  void run(const GpuSamples& inputs, const CallOptions& choices, float* outputs);  ///< See predict().
  /// Throws DataError unless predict() and logits() support the network.
  void check_reads_digits();
  Reading read(const Picture& picture);
  /// As PageMaker::page().
  ModelPage show(const NamedPicture& given, int64_t batch, const CallOptions& choices);
  std::vector<LayerInfo> layers();
  /// As Model::shares(), of the calls with all choices together.
  std::vector<DeviceShare> shares();
  ModelProfile profile(int64_t batch, double min_time_ms, const CallOptions& choices,
                       const std::function<void()>& pause);
  Plan plan(int64_t batch, const CallOptions& choices);

 private:
  Model& model_for(const CallOptions& choices);
  void serve(const CallOptions& choices);
  /// Calls use(model), alone and with the choices.
  template <typename Use>
  auto with_model(const CallOptions& choices, const Use& use);
  /// Calls use(model, pixels) for the values as their type.
  template <typename Use>
  void with_samples(const GpuSamples& images, const CallOptions& choices, const Use& use);
  int64_t images_at_once(const SampleArray& images) const noexcept;

  const ModelOptions options_;
  std::recursive_mutex mutex_;  // recursive: profile() holds it while it calls `pause`
  Model model_;
  std::vector<Device> devices_;
  PageMaker pages_;
  std::map<std::tuple<std::string, std::string, std::string>, Model> others_;  // by plan, backend, math
};

}  // namespace lenslet::python
