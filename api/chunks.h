// Chunks: the images of one call, cut into chunks of equal size, which the lanes of one or several devices take as fast
// as they compute them. Chunk boundaries depend on the numbers given to begin() only, never on load, so that results
// repeat bit for bit whichever lane takes a chunk. Internal: Feed and DeviceSet use it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lenslet {

/// Images [first, first + images) of a call.
struct Chunk {
  int64_t first = 0, images = 0;
};

/// Thread-safe, but for begin(). A chunk that was taken either lands or is given back; nothing allocates after begin().
class Chunks {
 public:
  /// Cuts [0, total) into chunks of `size` >= 1, the last one smaller, for so many `workers`. Forgets an earlier call,
  /// whose workers must have left.
  void begin(int64_t total, int64_t size, int workers);

  /// Draws the next chunk that no worker has. False if there is none now, and after stop().
  bool next(Chunk& chunk);
  /// Waits until there is a chunk to take. False if there will be none: all have landed, or stop() was called. The
  /// caller must hold no chunk, since it would wait for its own.
  bool wait();
  /// The answers of that chunk are in their place.
  void land(Chunk chunk);
  /// Offers it again; for a worker that failed.
  void give_back(Chunk chunk);
  /// No chunk is taken any more.
  void stop();
  /// The calling worker takes no more.
  void leave();

  /// Waits until in_order() is above `reported`, a worker leaves, or for `at_most`. False once all workers have left.
  bool watch(int64_t reported, std::chrono::milliseconds at_most);
  /// Images before the first chunk that has not landed.
  int64_t in_order() const;

 private:
  bool all_landed() const { return landed_chunks_ == static_cast<int64_t>(landed_.size()); }
  int64_t images_in_order() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t total_ = 0, size_ = 1, next_ = 0;  // `next_`: the first image that was never taken
  int workers_ = 0;
  bool stopped_ = false;
  std::vector<bool> landed_;  // by chunk
  int64_t landed_chunks_ = 0, first_missing_ = 0;
  std::vector<Chunk> given_back_;
};

}  // namespace lenslet
