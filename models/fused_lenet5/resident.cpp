// The host's side of a resident kernel.
//
// A cluster may end by itself at any time between two images. It then writes Memory::ended and gives no more answers.
// An image submitted meanwhile stays in its slot, and the next launch begins with the first image without an answer. If
// an answer was still on its way, the image is computed again, with the same bits.
#include "models/fused_lenet5/resident.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "framework/base/clock.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/device/device_health.h"
#include "models/fused_lenet5/check_gpu.h"
#include "models/fused_lenet5/gpu/resident/launch.h"
#include "models/fused_lenet5/spin_wait.h"
#include "models/lenet5_sizes.h"

namespace lenslet {

using resident::Memory;

namespace {

static_assert(ResidentLenet5::kMaxBatch == resident::kSlots &&
              ResidentLenet5::kMaxClusters == resident::kMaxClusters);
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
        launch_(lenet5_parameters(weights), options.max_clusters, streams_.emplace_back(options.device)),
        pinned_(options.device, sizeof(Memory)),
        memory_(new (pinned_.data()) Memory{}),
        clusters_(static_cast<uint64_t>(launch_.clusters())),
        launches_(clusters_) {
    while (streams_.size() < clusters_) streams_.emplace_back(options.device);
    try {
      for (uint64_t cluster = 0; cluster < clusters_; ++cluster) start(cluster);
    } catch (...) {  // those that started read the memory that is freed now
      end();
      throw;
    }
  }
  ~Kernel() { end(); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void submit(const uint8_t* images, int64_t count) {
    if (count < 0 || in_flight() + count > kMaxBatch) {
      throw UsageError(concat("resident kernel: ", counted(count, "image"), " more than fit: ", in_flight(),
                              " of its ", kMaxBatch, " slots are in flight. Call wait() first."));
    }
    const uint64_t first = submitted_;
    for (int64_t i = 0; i < count; ++i) put_image(images + i * kLenet5Pixels);
    for (uint64_t image = first; image < std::min(submitted_, first + clusters_); ++image)
      start_if_ended(image % clusters_);
  }
  void wait(int64_t count, Prediction* predictions, float* logits) {
    if (count < 0 || count > in_flight()) {
      throw UsageError(concat("resident kernel: ", counted(count, "answer"), " requested, found ",
                              counted(in_flight(), "image"), " in flight. Submit more, or wait for fewer."));
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
    if (in_flight() > 0) {
      throw UsageError(concat("resident kernel: suspend() found ", counted(in_flight(), "image"),
                              " in flight. Call wait() for them first."));
    }
    stop();
  }
  int64_t launches() const noexcept {
    return static_cast<int64_t>(std::accumulate(launches_.begin(), launches_.end(), uint64_t{0}));
  }
  int clusters() const noexcept { return launch_.clusters(); }
  int blocks() const noexcept { return launch_.blocks(); }

 private:
  static const ResidentOptions& check_options(const ResidentOptions& options) {
    check_gpu("a resident kernel needs", options.device);
    if (options.idle_ms < 1 || options.lease_ms < 1) {
      throw UsageError(concat("resident kernel: idle_ms and lease_ms must be at least 1, found ",
                              options.idle_ms, " and ", options.lease_ms));
    }
    if (options.max_clusters < 1 || options.max_clusters > kMaxClusters) {
      throw UsageError(concat("resident kernel: max_clusters must be 1 to ", kMaxClusters, ", found ",
                              options.max_clusters));
    }
    return options;
  }
  void end() noexcept {
    try {
      stop();
    } catch (const Error&) {  // the GPU failed: no kernel runs there
    }
  }
  int64_t in_flight() const noexcept { return static_cast<int64_t>(submitted_ - answered_); }
  /// The first image of the cluster from `from` on.
  uint64_t next_image(uint64_t cluster, uint64_t from) const noexcept {
    return from + (cluster + clusters_ - from % clusters_) % clusters_;
  }

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
  void start(uint64_t cluster) {
    launch_.enqueue(memory_,
                    {static_cast<int>(cluster), launch_.clusters(), launches_[cluster] + 1,
                     next_image(cluster, answered_), options_.idle_ms * 1000000, options_.lease_ms * 1000000},
                    streams_[cluster]);
    ++launches_[cluster];
  }
  void start_if_ended(uint64_t cluster) {
    if (load_word(memory_->ended[cluster]) == launches_[cluster]) start(cluster);
  }
  void stop() {
    for (uint64_t cluster = 0; cluster < clusters_; ++cluster) {
      store_word(memory_->images[next_image(cluster, submitted_) % resident::kSlots][0],
                 resident::kStopTag << 56);
    }
    for (Stream& stream : streams_) stream.synchronise();
  }

  uint64_t await(const uint64_t& word) {
    const uint64_t tag = resident::tag_of(answered_), cluster = answered_ % clusters_;
    uint64_t value = 0;
    double began = 0;
    spin_until(
        [&] {
          value = load_word(word);
          return value >> 56 == tag;
        },
        [&] {
          start_if_ended(cluster);
          const double now = host_now_ns();
          if (began == 0) began = now;
          if (now - began < next_query_ns_) return;
          next_query_ns_ += kNsPerMs;
          small_lenet5::throw_on_failure(streams_[cluster]);
          if (now - began > device_timeout_s() * kNsPerS) throw_device_timeout();
        });
    next_query_ns_ = kNsPerMs;
    return value;
  }

  ResidentOptions options_;
  std::vector<Stream> streams_;  // of each cluster, which the others do not wait for
  small_lenet5::ResidentLaunch launch_;
  PinnedBuffer pinned_;
  Memory* memory_;
  uint64_t clusters_;
  std::vector<uint64_t> launches_;  // of each cluster
  uint64_t submitted_ = 0, answered_ = 0;
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
int ResidentLenet5::clusters() const noexcept { return kernel_->clusters(); }
int ResidentLenet5::blocks() const noexcept { return kernel_->blocks(); }

}  // namespace lenslet
