// StreamGate: holds a CUDA stream back until everything to be timed is enqueued, so that events measure the GPU's time
// and not the rate at which the host launches. Internal.
#pragma once

#include <memory>

#include "framework/stream.h"

namespace lenslet {

class StreamGate {
 public:
  /// Work enqueued from now on waits for open(). Nothing on the CPU, where work runs at once. Everything that will be
  /// enqueued must have run before: a library that sets itself up behind a closed gate would wait for it.
  explicit StreamGate(Stream& stream);
  ~StreamGate() { open(); }
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;
  void open() noexcept;
  /// Whether the gate gave up before open(), after synchronising: the driver's queue holds about a thousand launches, and
  /// a pass with more of them would wait for ever behind a closed gate. Intervals then hold the host's time too.
  bool gave_up() const noexcept;

 private:
  struct State;
  static void wait(void* argument);
  std::shared_ptr<State> state_;  // shared with the host function, which a dead context never runs
};

}  // namespace lenslet
