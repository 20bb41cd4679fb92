#include "framework/stream_gate.h"

#include <thread>

#include "framework/runtime.h"

namespace lenslet {

StreamGate::StreamGate(Stream& stream) : stream_(stream) {
  if (stream.device().is_cuda()) {
    runtime::hold_stream(stream.native_handle(), &StreamGate::wait, this);
  } else {
    passed_.store(true);
  }
}

StreamGate::~StreamGate() {
  open();
  // The host function reads this object, so it must be through before the object goes.
  while (!passed_.load(std::memory_order_acquire)) std::this_thread::yield();
}

void StreamGate::wait(void* gate) {
  StreamGate& self = *static_cast<StreamGate*>(gate);
  while (!self.open_.load(std::memory_order_acquire)) {
  }
  self.passed_.store(true, std::memory_order_release);
}

}  // namespace lenslet
