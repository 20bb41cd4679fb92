// DeviceLanes: answers calls in the memory of a GPU. It builds a lane for each number of images on first use and keeps
// it. Internal: Model uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/feed.h"
#include "api/model_setup.h"

namespace lenslet {

/// Lanes kept of each kind: enough for the batches of a typical caller and their remainders. A pass on a GPU may hold
/// gigabytes.
inline constexpr size_t kLanesKept = 4;

/// The largest number of images up to `limit` for which each pass of a call begins at a multiple of
/// Executable::kEndAlignment, if the first does; the smallest one if `limit` is below it. 0 bytes: no such end.
int64_t aligned_pass(int64_t limit, size_t image_bytes, size_t answer_bytes) noexcept;

/// Not thread-safe.
class DeviceLanes {
 public:
  /// A pass has `pass_limit` images, or, without `has_limit`, as many as the whole network takes at once. `setup` must
  /// outlive this.
  DeviceLanes(const ModelSetup& setup, int64_t pass_limit, bool has_limit) noexcept
      : setup_(setup), pass_limit_(pass_limit), has_limit_(has_limit) {}

  /// Enqueues the answers to `count` >= 0 images on the stream of `place`, as Place::on_device() has it. Throws
  /// UsageError for memory that is not the GPU's or not aligned, and for a capture of an unprepared call;
  /// UnavailableError for a plan that does not read and write the types of `call`.
  void run(const void* images, int64_t count, Answers answers, InputOutput call, const Place& place);

 private:
  /// One whose passes write memory of their own, recorded into a CUDA graph, belongs to that graph, which may run at
  /// any time; so do the weights of any recorded one.
  struct Kept {
    std::unique_ptr<Lane> lane;
    InputOutput call;
    uint64_t capture = 0;  // the last that recorded it; 0: none
    bool fits(uint64_t id) const {
      return capture == 0 || capture == id || !lane->executable().writes_own_memory();
    }
  };

  Lane& lane(int64_t batch, InputOutput call, uint64_t capture);
  void make_room();
  std::unique_ptr<Lane> build(int64_t batch, InputOutput call) const;

  const ModelSetup& setup_;
  int64_t pass_limit_;
  bool has_limit_;
  std::vector<Kept> kept_;  // most recently used first
};

}  // namespace lenslet
