// Model::State: the lanes and feeds that serve the calls of a Model, built on first use and kept. Internal: only Model
// uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/device_lanes.h"
#include "api/feed.h"
#include "api/model.h"
#include "api/model_setup.h"

namespace lenslet {

/// A call that reads bytes and writes predictions.
inline constexpr InputOutput kBytesToPredictions{ElementType::kUint8, ElementType::kClass};

class Model::State {
 public:
  /// Of options that leave the passes to the library. Throws like Model::load().
  State(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options);
  /// Of a single-pass model.
  State(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass);

  const ModelSetup& setup() const noexcept { return *setup_; }
  const std::shared_ptr<const ModelSetup>& shared_setup() const noexcept { return setup_; }
  int64_t pass_size() const noexcept { return pass_limit_; }
  /// Builds the memory of a single-pass model's calls.
  void prepare() {
    if (feed_) feed_->prepare();
  }

  /// Answers `count` images of call.input. Returns the number of images computed, as Model::logits() does.
  int64_t answer(const void* images, int64_t count, Answers answers, InputOutput call,
                 const Place& place = {}, const Progress& progress = {});
  /// A lane for calls in host memory. Builds it on first use and drops those used least recently.
  Lane& lane(int64_t batch, InputOutput call);
  /// What a profile times: layers if the caller left the plan to the library, else a pass from bytes to predictions
  /// whose input and output are in device memory.
  BuildOptions profile_options(int64_t batch) const;

 private:
  /// A feed for large calls of these types; none if layers compute them.
  struct KeptFeed {
    InputOutput call;
    int64_t batch = 0;  // of its passes
    std::unique_ptr<Feed> feed;
  };
  /// A lane, and the types of calls that it supports, so that they are found without querying the backends again.
  struct KeptLane {
    std::unique_ptr<Lane> lane;
    unsigned calls = 0;  // one bit for each type of call
  };

  BuildOptions build_options(int64_t batch) const;
  std::unique_ptr<Lane> build(int64_t batch, InputOutput pass);
  void drop_lanes_beside(Lane& built);
  /// The feed for a large call from host memory; null if lane() should serve it.
  Feed* feed_for(int64_t count, InputOutput call);
  std::unique_ptr<Feed> build_feed(const BuildOptions& options);

  std::shared_ptr<const ModelSetup> setup_;
  int64_t pass_limit_;
  // For a single-pass model.
  std::optional<BuildOptions> pass_;
  std::unique_ptr<Feed> feed_;
  // For any other model; lanes most recently used first.
  std::vector<KeptLane> lanes_;
  std::vector<KeptFeed> feeds_;
  std::optional<DeviceLanes> device_lanes_;
};

}  // namespace lenslet
