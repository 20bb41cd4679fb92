// StreamGate: holds a CUDA stream back until all timed work is enqueued, so that events measure the GPU and not the
// host's launch rate. Internal.
#pragma once

#include <memory>

#include "framework/device/stream.h"

namespace lenslet {

class StreamGate {
 public:
  /// Work enqueued from now on waits for open(). On the CPU it does nothing. All work must have run once before,
  /// because a library that initialises itself behind a closed gate would wait forever.
  explicit StreamGate(Stream& stream);
  ~StreamGate() { open(); }
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  void open() noexcept;
  /// Whether the gate opened by itself, before open(); the intervals then include the host's time. Valid after
  /// synchronising. It opens because the driver's queue holds about a thousand launches: a pass with more of them would
  /// wait forever behind a closed gate.
  bool gave_up() const noexcept;

 private:
  struct State;
  static void wait(void* argument);
  std::shared_ptr<State> state_;  // shared with the host function, which never runs in a lost context
};

/// Runs the work that `enqueue` puts on the stream, held back until all of it is enqueued, and waits for it. Returns
/// false if the gate gave up, so that the work was not held back.
template <typename Enqueue>
bool run_held_back(Stream& stream, Enqueue&& enqueue) {
  StreamGate gate(stream);
  enqueue();
  gate.open();
  stream.synchronise();
  return !gate.gave_up();
}

/// Runs work like run_held_back(), until a stream cannot hold one back; from then on without.
class HeldBack {
 public:
  /// `hold`: false never holds work back.
  explicit HeldBack(Stream& stream, bool hold = true) : stream_(stream), held_back_(hold) {}
  template <typename Enqueue>
  void run(Enqueue&& enqueue) {
    if (held_back_) {
      held_back_ = run_held_back(stream_, enqueue);
    } else {
      enqueue();
      stream_.synchronise();
    }
  }
  /// Whether all work so far was held back.
  bool all() const noexcept { return held_back_; }

 private:
  Stream& stream_;
  bool held_back_;
};

}  // namespace lenslet
