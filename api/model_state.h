// Model::State: the lanes and feeds that serve the calls of a Model, built on first use and kept. A model on several
// devices has one for each, and a DeviceSet. Internal: only Model uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "api/device_lanes.h"
#include "api/device_set.h"
#include "api/feed.h"
#include "api/model.h"
#include "api/model_setup.h"
#include "models/prediction.h"

namespace lenslet {

/// A call that reads bytes and writes predictions.
inline constexpr InputOutput kBytesToPredictions{ElementType::kUint8, kPrediction};

class Model::State {
 public:
  /// Makes a model that chooses its passes. `threads`: see `threads_`. Throws like Model::load().
  State(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options, int threads = 0);
  /// Makes a single-pass model.
  State(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass, int threads = 0);

  const ModelSetup& setup() const noexcept { return *setup_; }
  const std::shared_ptr<const ModelSetup>& shared_setup() const noexcept { return setup_; }
  int64_t pass_size() const noexcept { return pass_limit_; }
  /// Builds the memory of a single-pass model's calls.
  void prepare();
  /// Runs a pass of a single-pass model on each device, waiting after each layer.
  void run_checked();
  /// As Model::shares().
  std::vector<DeviceShare> shares() const { return set_ ? set_->shares() : std::vector<DeviceShare>(); }

  /// Answers `count` images of call.input. Returns the number of images computed, as Model::logits() does.
  int64_t answer(const void* images, int64_t count, Answers answers, InputOutput call,
                 const Place& place = {}, const Progress& progress = {});
  /// A lane for calls in host memory. Builds it on first use and drops those used least recently.
  Lane& lane(int64_t batch, InputOutput call);
  /// What a profile times: layers if the caller left the plan to the library, else a pass from bytes to predictions
  /// whose input and output are in device memory.
  BuildOptions profile_options(int64_t batch) const;

 private:
  /// How a feed takes a call from host memory.
  struct FedCall {
    InputOutput types;
    int64_t batch = 0;         // images of a pass; 0 if one image exceeds a chunk
    bool page_locked = false;  // the caller's images
  };
  /// A feed for large calls; null for a model on one device whose plan is layered.
  struct KeptFeed {
    FedCall call;
    std::unique_ptr<Feed> feed;
  };
  /// A lane, and the types of calls that it supports, so that they are found without querying the backends again.
  struct KeptLane {
    std::unique_ptr<Lane> lane;
    unsigned calls = 0;  // bit_of() of every call that this lane was found to support
  };

  /// The state of device `i` of the set.
  State& member(size_t i) { return i == 0 ? *this : *others_[i - 1]; }
  /// The first device that is not lost.
  std::optional<Device> usable_device() const;
  /// Returns the state of the device that holds `data`, which `place` may state; `*this` if none does.
  State& member_with(const void* data, const Place& place);
  /// answer() in host memory, by this device alone or by all.
  int64_t answer_alone(const void* images, int64_t count, Answers answers, InputOutput call,
                       const Progress& progress);
  int64_t answer_by_set(const void* images, int64_t count, Answers answers, InputOutput call,
                        const Progress& progress);
  int64_t image_bytes(ElementType type) const {
    return static_cast<int64_t>(bytes_of_image(setup_->graph(), type));
  }
  BuildOptions build_options(int64_t batch) const;
  FeedOptions feed_options(const BuildOptions& pass, bool in_place) const;
  std::unique_ptr<Lane> build(int64_t batch, InputOutput pass);
  void drop_lanes_beside(Lane& built);
  /// Calls `body` with the state of each device that is not left out. Throws if all fail.
  void on_each_device(const std::function<void(State&)>& body);
  FedCall fed_call(const void* images, int64_t count, InputOutput types) const;
  KeptFeed* kept_feed(const FedCall& call);
  /// The feed for a large call from host memory; null if lane() should take it.
  Feed* feed_for(const void* images, int64_t count, InputOutput types);
  /// For a model on several devices: the feed of this device, also for layered plans. ready_feed() returns one that was
  /// prepared before, or null. prepared_feed() prepares one if there is none: it replays the choices of `plan`, unless
  /// that is null.
  Feed* ready_feed(const FedCall& call);
  Feed& prepared_feed(const FedCall& call, const Plan* plan);
  std::unique_ptr<Feed> build_feed(const BuildOptions& options, const FedCall& call);

  std::shared_ptr<const ModelSetup> setup_;
  int64_t pass_limit_;
  // A model of several devices: this state is of the first, `others_` are of the others.
  std::unique_ptr<DeviceSet> set_;
  std::vector<std::unique_ptr<State>> others_;
  int threads_ = 0;  // that feed this device of a set; 0: it is alone
  // Members of a single-pass model.
  std::optional<BuildOptions> pass_;
  std::unique_ptr<Feed> feed_;
  // Members of any other model; lanes most recently used first.
  std::vector<KeptLane> lanes_;
  std::vector<KeptFeed> feeds_;
  std::optional<DeviceLanes> device_lanes_;
};

}  // namespace lenslet
