// The host's side of a resident kernel.
//
// The kernel may end by itself at any time between two images. It then writes Memory::ended and gives no more answers.
// An image submitted meanwhile stays in its slot, and the next launch begins with the first image without an answer. If
// an answer was still on its way, the image is computed again, with the same bits.
#include "models/fused_lenet5/resident.h"

#include <cstring>

#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "framework/device/device_health.h"
#include "models/fused_lenet5/check_gpu.h"
#include "models/fused_lenet5/gpu/resident/launch.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5_sizes.h"

namespace lenslet {

using resident::Memory;

namespace {

constexpr double kNsPerMs = 1e6, kNsPerS = 1e9;

float as_float(uint64_t word) {
  const auto bits = static_cast<uint32_t>(word);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

class ResidentLenet5::Kernel {
 public:
  Kernel(const Safetensors& weights, const ResidentOptions& options)
      : options_(check_options(options)),
        stream_(options.device),
        launch_(lenet5_parameters(weights), stream_),
        pinned_(options.device, sizeof(Memory)),
        memory_(new (pinned_.data()) Memory{}) {
    start();
  }
  ~Kernel() {
    try {
      stop();
    } catch (const Error&) {  // the GPU failed: no kernel runs there
    }
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void submit(const uint8_t* images, int64_t count) {
    if (count < 0 || under_way() + count > kMaxBatch) {
      throw UsageError(concat("a resident kernel takes ", kMaxBatch, " images at a time; ", under_way(),
                              " are under way, found ", count, " more"));
    }
    for (int64_t i = 0; i < count; ++i) put_image(images + i * kLenet5Pixels);
    if (count > 0 && has_ended()) start();
  }
  void wait(int64_t count, Prediction* predictions, float* logits) {
    if (count < 0 || count > under_way()) {
      throw UsageError(concat("expected at most the ", under_way(), " answers under way, found ", count));
    }
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t* const answer = memory_->answers[answered_ % resident::kSlots];
      const uint64_t prediction = await(answer[resident::kPredictionWord]);
      if (predictions) predictions[i] = {static_cast<int32_t>(prediction >> 32 & 255), as_float(prediction)};
      for (int64_t k = 0; logits && k < kLenet5Classes; ++k)
        logits[i * kLenet5Classes + k] = as_float(await(answer[k]));
      ++answered_;
    }
  }
  void suspend() {
    if (under_way() > 0) throw UsageError(concat("suspend() with ", under_way(), " images under way"));
    stop();
  }
  int64_t launches() const noexcept { return static_cast<int64_t>(launches_); }
  int blocks() const noexcept { return launch_.blocks(); }

 private:
  static const ResidentOptions& check_options(const ResidentOptions& options) {
    check_gpu("a resident kernel needs", options.device);
    if (options.idle_ms < 1 || options.lease_ms < 1) {
      throw UsageError("a resident kernel's idle time and lease are at least one millisecond");
    }
    return options;
  }
  int64_t under_way() const noexcept { return static_cast<int64_t>(submitted_ - answered_); }
  bool has_ended() const noexcept { return load_word(memory_->ended) == launches_; }

  void put_image(const uint8_t* pixels) {
    uint64_t* const words = memory_->images[submitted_ % resident::kSlots];
    const uint64_t tag = resident::tag_of(submitted_) << 56;
    for (int i = 0; i < resident::kImageWords; ++i) {
      uint64_t seven = 0;
      std::memcpy(&seven, pixels + i * resident::kWordPixels, resident::kWordPixels);
      store_word(words[i], seven | tag);
    }
    ++submitted_;
  }
  void start() {
    launch_.enqueue(memory_,
                    {launches_ + 1, answered_, options_.idle_ms * 1000000, options_.lease_ms * 1000000},
                    stream_);
    ++launches_;
  }
  void stop() {
    store_word(memory_->images[submitted_ % resident::kSlots][0], resident::kStopTag << 56);
    stream_.synchronise();
  }

  uint64_t await(const uint64_t& word) {
    const uint64_t tag = resident::tag_of(answered_);
    uint64_t value = 0;
    double began = 0;
    spin_until(
        [&] {
          value = load_word(word);
          return value >> 56 == tag;
        },
        [&] {
          if (has_ended()) start();
          const double now = host_now_ns();
          if (began == 0) began = now;
          if (now - began < next_query_ns_) return;
          next_query_ns_ += kNsPerMs;
          small_lenet5::throw_on_failure(stream_);
          if (now - began > device_timeout_s() * kNsPerS) throw_device_timeout();
        });
    next_query_ns_ = kNsPerMs;
    return value;
  }

  ResidentOptions options_;
  Stream stream_;
  small_lenet5::ResidentLaunch launch_;
  PinnedBuffer pinned_;
  Memory* memory_;
  uint64_t launches_ = 0, submitted_ = 0, answered_ = 0;
  double next_query_ns_ = kNsPerMs;  // waiting time until the next query of the stream
};

ResidentLenet5::ResidentLenet5(const Safetensors& weights, const ResidentOptions& options)
    : kernel_(std::make_unique<Kernel>(weights, options)) {}
ResidentLenet5::~ResidentLenet5() = default;
void ResidentLenet5::submit(const uint8_t* images, int64_t count) { kernel_->submit(images, count); }
void ResidentLenet5::wait(int64_t count, Prediction* predictions, float* logits) {
  kernel_->wait(count, predictions, logits);
}
void ResidentLenet5::suspend() { kernel_->suspend(); }
int64_t ResidentLenet5::launches() const noexcept { return kernel_->launches(); }
int ResidentLenet5::blocks() const noexcept { return kernel_->blocks(); }

}  // namespace lenslet
