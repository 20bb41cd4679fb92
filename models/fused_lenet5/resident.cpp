// The host's side of a resident kernel.
//
// A cluster may end by itself at any time between two images. It then writes Memory::ended and gives no more answers.
// An image submitted meanwhile stays in its slot. Once the host misses an answer, it ends the other clusters too, and
// launches all again, each from its first image without an answer.
#include "models/fused_lenet5/resident.h"

#include <algorithm>

#include "framework/base/clock.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/device/device_health.h"
#include "framework/tensor/float_formats.h"
#include "models/fused_lenet5/check_gpu.h"
#include "models/fused_lenet5/gpu/resident/launch.h"
#include "models/fused_lenet5/pack_image.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5_sizes.h"

namespace lenslet {

using resident::Memory;

namespace {

static_assert(ResidentLenet5::kMaxBatch == resident::kSlots &&
              ResidentLenet5::kMaxClusters == resident::kMaxClusters);
constexpr int64_t kNsPerMs = 1000000, kMaxMs = INT64_MAX / kNsPerMs;  // about 292 years
constexpr double kNsPerS = 1e9, kNsPerQuery = 1e6;  // a query of the stream each millisecond

/// The value in the lower half of an answer's word.
float value_of(uint64_t word) { return float_from_bits(static_cast<uint32_t>(word)); }

}  // namespace

class ResidentLenet5::Kernel {
 public:
  Kernel(const Safetensors& weights, const ResidentOptions& options)
      : options_(check_options(options)),
        stream_(options.device),
        launch_(lenet5_parameters(weights), options.max_clusters, stream_),
        pinned_(options.device, sizeof(Memory)),
        memory_(new (pinned_.data()) Memory{}),
        clusters_(static_cast<uint64_t>(launch_.clusters())) {
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
    if (count < 0 || count > kMaxBatch - in_flight()) {
      throw UsageError(concat("resident kernel: ", "no room for ", counted(count, "image"), ": ", in_flight(),
                              " of ", kMaxBatch, " slots are in use. Call wait() first."));
    }
    const uint64_t first = submitted_;
    for (int64_t i = 0; i < count; ++i) put_image(images + i * kLenet5Pixels);
    for (uint64_t image = first; image < std::min(submitted_, first + clusters_); ++image)
      start_if_ended(image);
  }
  void wait(int64_t count, Prediction* predictions, float* logits) {
    if (count < 0 || count > in_flight()) {
      throw UsageError(concat("resident kernel: ", counted(count, "answer"), " requested, found ",
                              counted(in_flight(), "image"), " in flight. Submit more, or wait for fewer."));
    }
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t slot = answered_ % resident::kSlots;
      const uint64_t prediction = await(memory_->predictions[slot]);
      if (predictions) predictions[i] = {static_cast<int32_t>(prediction >> 32 & 255), value_of(prediction)};
      for (int64_t k = 0; logits && k < kLenet5Classes; ++k)
        logits[i * kLenet5Classes + k] = value_of(await(memory_->logits[slot][k]));
      ++answered_;
    }
  }
  void suspend() {
    if (in_flight() > 0) {
      throw UsageError(concat("resident kernel: suspend() found ", counted(in_flight(), "image"),
                              " in flight. Call wait() for them first."));
    }
    stop();
  }
  int64_t launches() const noexcept { return static_cast<int64_t>(launches_); }
  int clusters() const noexcept { return launch_.clusters(); }
  int blocks() const noexcept { return launch_.blocks(); }

 private:
  static const ResidentOptions& check_options(const ResidentOptions& options) {
    check_gpu("a resident kernel needs", options.device);
    for (const int64_t ms : {options.idle_ms, options.lease_ms}) {
      if (ms >= 1 && ms <= kMaxMs) continue;
      throw UsageError(concat("resident kernel: idle_ms and lease_ms must be 1 to ", kMaxMs, ", found ",
                              options.idle_ms, " and ", options.lease_ms));
    }
    if (options.max_clusters < 1 || options.max_clusters > kMaxClusters) {
      throw UsageError(concat("resident kernel: max_clusters must be 1 to ", kMaxClusters, ", found ",
                              options.max_clusters));
    }
    return options;
  }
  int64_t in_flight() const noexcept { return static_cast<int64_t>(submitted_ - answered_); }

  void put_image(const uint8_t* pixels) {
    const uint64_t slot = submitted_ % resident::kSlots, tag = resident::tag_of(submitted_);
    uint64_t* const words = memory_->images[slot];
    resident::pack_image(words, pixels, tag);
    store_word(words[resident::kLaunchWord], resident::launch_word(named_, tag));
    ++submitted_;
  }
  /// Ends every cluster and waits for that: all of its answers are there.
  void stop() {
    named_ = launches_ + 1;
    for (auto& words : memory_->images) {
      uint64_t& word = words[resident::kLaunchWord];
      store_word(word, resident::launch_word(named_, load_word(word) & 255));
    }
    stream_.synchronise();
  }
  void start() {
    stop();
    resident::Turn turn{};
    turn.clusters = launch_.clusters();
    turn.launch = named_;
    turn.idle_ns = options_.idle_ms * kNsPerMs;
    turn.lease_ns = options_.lease_ms * kNsPerMs;
    for (uint64_t cluster = 0; cluster < clusters_; ++cluster)
      turn.first_image[cluster] = first_image(cluster);
    launch_.enqueue(memory_, turn, stream_);
    launches_ = named_;
  }
  void start_if_ended(uint64_t image) {
    if (load_word(memory_->ended[image % clusters_]) == launches_) start();
  }
  /// The cluster's first image without an answer.
  uint64_t first_image(uint64_t cluster) const noexcept {
    uint64_t image = answered_ + (cluster + clusters_ - answered_ % clusters_) % clusters_;
    while (image < submitted_ && has_tag(memory_->predictions[image % resident::kSlots], image))
      image += clusters_;
    return image;
  }
  static bool has_tag(const uint64_t& word, uint64_t image) noexcept {
    return resident::answer_tag(load_word(word)) == resident::tag_of(image);
  }

  uint64_t await(const uint64_t& word) {
    const uint64_t tag = resident::tag_of(answered_);
    uint64_t value = 0;
    double began = 0;
    spin_until(
        [&] {
          value = load_word(word);
          return resident::answer_tag(value) == tag;
        },
        [&] {
          start_if_ended(answered_);
          const double now = host_now_ns();
          if (began == 0) began = now;
          if (now - began < next_query_ns_) return;
          next_query_ns_ += kNsPerQuery;
          cluster_lenet5::throw_on_failure(stream_);
          if (now - began > device_timeout_s() * kNsPerS) throw_device_timeout();
        });
    next_query_ns_ = kNsPerQuery;
    return value;
  }

  ResidentOptions options_;
  Stream stream_;
  cluster_lenet5::ResidentLaunch launch_;
  PinnedBuffer pinned_;
  Memory* memory_;
  uint64_t clusters_;
  uint64_t launches_ = 0, named_ = 0;  // so far; the launch that the slots name
  uint64_t submitted_ = 0, answered_ = 0;
  double next_query_ns_ = kNsPerQuery;  // waiting time until the next query of the stream
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
int ResidentLenet5::clusters() const noexcept { return kernel_->clusters(); }
int ResidentLenet5::blocks() const noexcept { return kernel_->blocks(); }

}  // namespace lenslet
