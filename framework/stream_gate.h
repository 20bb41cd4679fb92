// StreamGate: holds a CUDA stream back until everything to be timed is enqueued, so that events measure the
// GPU's time and not the rate at which the host launches. Internal.
#pragma once

#include <atomic>

#include "framework/stream.h"

namespace lenslet {

class StreamGate {
 public:
  /// Work enqueued from now on waits for open(). Nothing on the CPU, where work runs at once. Everything that
  /// will be enqueued must have run before: a library that sets itself up behind a closed gate would wait for
  /// ever.
  explicit StreamGate(Stream& stream);
  ~StreamGate();
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  void open() noexcept { open_.store(true, std::memory_order_release); }

 private:
  static void wait(void* gate);
  Stream& stream_;
  std::atomic<bool> open_{false};
  std::atomic<bool> passed_{false};
};

}  // namespace lenslet
