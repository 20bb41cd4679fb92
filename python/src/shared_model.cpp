#include "python/src/shared_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "framework/device/device_list.h"
#include "models/lenet5.h"
#include "python/src/process.h"

namespace lenslet::python {
namespace {

// Images computed between two checks for Ctrl-C: a whole number of the library's passes on both kinds of device, some
// tenths of a second on a CPU. Images that are not contiguous are copied in parts of this size.
constexpr int64_t kImagesAtOnce = 65536;
// On a GPU, where the lanes of a call fill and drain once a part; a tenth of a second over the bus.
constexpr int64_t kImagesAtOnceOnGpu = int64_t{1} << 22;

// Interval between two checks of a profile, so that they take almost none of its time.
constexpr std::chrono::milliseconds kPause(10);

// Calls compute(pixels, begin, count) for images of one type, part by part.
template <typename Pixel, typename Compute>
void in_parts(const SampleArray& images, int64_t part, const std::function<void()>& pause,
              const Compute& compute) {
  std::vector<Pixel> room;
  for (int64_t begin = 0; begin < images.count(); begin += part) {
    const int64_t count = std::min(part, images.count() - begin);
    compute(images.slice(begin, count, room), begin, count);
    pause();
  }
}

template <typename Compute>
void in_parts(const SampleArray& images, int64_t part, const std::function<void()>& pause,
              const Compute& compute) {
  if (images.type() == ElementType::kUint8) return in_parts<uint8_t>(images, part, pause, compute);
  if (images.type() == ElementType::kUint4) return in_parts<PixelPair>(images, part, pause, compute);
  in_parts<float>(images, part, pause, compute);
}

Model open_model(const std::optional<std::string>& path, const ModelOptions& options) {
  const Computation computation;
  return path ? Model::load(*path, options) : Model::built_in(options);
}

}  // namespace

SharedModel::SharedModel(const std::optional<std::string>& path, ModelOptions options)
    : options_(std::move(options)), model_(open_model(path, options_)), devices_(model_.devices()) {}

// Parts are whole passes, so that the place of an image in a pass does not depend on the number of images.
int64_t SharedModel::images_at_once(const SampleArray& images) const noexcept {
  const int64_t pass = options_.max_batch;
  const int64_t part = devices_.front().is_cuda() && images.is_in_place()
                           ? kImagesAtOnceOnGpu * static_cast<int64_t>(devices_.size())
                           : kImagesAtOnce;
  return pass <= 0 ? part : pass * std::max<int64_t>(part / pass, 1);
}

Model& SharedModel::model_for(const CallOptions& choices) {
  if (!choices.plan && !choices.backend && !choices.math) return model_;
  ModelOptions options = options_;
  // Backend names of one plan do not apply to another plan.
  if (choices.plan) options.backend.clear();
  options.plan = choices.plan.value_or(options.plan);
  options.backend = choices.backend.value_or(options.backend);
  options.math = choices.math.value_or(options.math);
  if (std::tie(options.plan, options.backend, options.math) ==
      std::tie(options_.plan, options_.backend, options_.math)) {
    return model_;
  }
  const auto key = std::make_tuple(options.plan, options.backend, options.math);
  const auto found = others_.find(key);
  if (found != others_.end()) return found->second;
  options.device = device_list(devices_);
  return others_.emplace(key, model_.with_options(options)).first->second;
}

template <typename Use>
auto SharedModel::with_model(const CallOptions& choices, const Use& use) {
  const Computation computation;
  const std::lock_guard<std::recursive_mutex> turn(mutex_);
  return use(model_for(choices));
}

template <typename Use>
void SharedModel::with_samples(const GpuSamples& images, const CallOptions& choices, const Use& use) {
  with_model(choices, [&](Model& model) {
    if (images.type == ElementType::kUint8) return use(model, static_cast<const uint8_t*>(images.values));
    if (images.type == ElementType::kUint4) return use(model, static_cast<const PixelPair*>(images.values));
    use(model, static_cast<const float*>(images.values));
  });
}

// Refuses unsupported choices also if there are no images.
void SharedModel::serve(const CallOptions& choices) {
  with_model(choices, [](Model&) {});
}

void SharedModel::predict(const SampleArray& images, const CallOptions& choices, int32_t* labels,
                          float* probabilities, const std::function<void()>& pause) {
  serve(choices);
  in_parts(images, images_at_once(images), pause, [&](const auto* pixels, int64_t begin, int64_t count) {
    with_model(choices, [&](Model& model) {
      model.predict(pixels, count, PredictionArrays{labels + begin, probabilities + begin});
    });
  });
}

void SharedModel::predict(const GpuSamples& images, const CallOptions& choices, PredictionArrays answers) {
  with_samples(images, choices, [&](Model& model, const auto* pixels) {
    model.predict(pixels, images.count, answers, images.place);
  });
}

void SharedModel::logits(const SampleArray& images, const CallOptions& choices, float* logits,
                         const std::function<void()>& pause) {
  serve(choices);
  in_parts(images, images_at_once(images), pause, [&](const auto* pixels, int64_t begin, int64_t count) {
    with_model(choices, [&](Model& model) { model.logits(pixels, count, logits + begin * kLenet5Classes); });
  });
}

void SharedModel::logits(const GpuSamples& images, const CallOptions& choices, float* logits) {
  with_samples(images, choices, [&](Model& model, const auto* pixels) {
    model.logits(pixels, images.count, logits, images.place);
  });
}

// A part is one pass, because a pass of a large network takes long.
void SharedModel::run(const SampleArray& inputs, const CallOptions& choices, float* outputs,
                      const std::function<void()>& pause) {
  serve(choices);
  const int64_t values = output_shape().num_elements();
  in_parts<float>(inputs, model_.pass_size(), pause, [&](const float* samples, int64_t begin, int64_t count) {
    with_model(choices, [&](Model& model) { model.run(samples, count, outputs + begin * values); });
  });
}

void SharedModel::run(const GpuSamples& inputs, const CallOptions& choices, float* outputs) {
  with_model(choices, [&](Model& model) {
    model.run(static_cast<const float*>(inputs.values), inputs.count, outputs, inputs.place);
  });
}

void SharedModel::check_reads_digits() { model_.predict(static_cast<const uint8_t*>(nullptr), 0, nullptr); }

Reading SharedModel::read(const Picture& picture) {
  const NumberMarks number = prepare_number(picture);
  return with_model({}, [&](Model& model) { return std::move(read_numbers(model, {number}).front()); });
}

ModelPage SharedModel::show(const NamedPicture& given, int64_t batch, const CallOptions& choices) {
  return with_model(
      choices, [&](Model& model) { return pages_.page(model.setup(), given.picture, given.name, batch); });
}

std::vector<LayerInfo> SharedModel::layers() {
  return with_model({}, [](Model& model) { return model.layers(); });
}

std::vector<DeviceShare> SharedModel::shares() {
  return with_model({}, [&](Model& first) {
    std::vector<DeviceShare> all = first.shares();
    for (const auto& [choices, model] : others_) {
      for (const DeviceShare& share : model.shares()) {
        for (DeviceShare& sum : all) {
          if (sum.device != share.device) continue;
          sum.images += share.images;
          if (sum.fault.empty()) sum.fault = share.fault;
        }
      }
    }
    return all;
  });
}

ModelProfile SharedModel::profile(int64_t batch, double min_time_ms, const CallOptions& choices,
                                  const std::function<void()>& pause) {
  return with_model(choices, [&](Model& model) {
    auto last = std::chrono::steady_clock::now();
    return model.profile(batch, min_time_ms, [&] {
      const auto now = std::chrono::steady_clock::now();
      if (now - last < kPause) return false;
      last = now;
      pause();
      return false;
    });
  });
}

Plan SharedModel::plan(int64_t batch, const CallOptions& choices) {
  return with_model(choices, [&](Model& model) { return model.plan(batch); });
}

}  // namespace lenslet::python
