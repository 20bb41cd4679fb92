#include "framework/measuring/stream_gate.h"

#include <atomic>

#include "framework/base/clock.h"
#include "framework/device/runtime.h"

namespace lenslet {

namespace {
constexpr double kPatienceNs = 250e6;  // a thousand launches take a few milliseconds
}

struct StreamGate::State {
  std::atomic<bool> open{false};
  std::atomic<bool> gave_up{false};
};

StreamGate::StreamGate(Stream& stream) : state_(std::make_shared<State>()) {
  if (!stream.device().is_cuda()) return;
  auto shared = std::make_unique<std::shared_ptr<State>>(state_);
  runtime::hold_stream(stream.native_handle(), &StreamGate::wait, shared.get());
  shared.release();  // wait() takes ownership
}

void StreamGate::open() noexcept { state_->open.store(true, std::memory_order_release); }

bool StreamGate::gave_up() const noexcept { return state_->gave_up.load(std::memory_order_acquire); }

void StreamGate::wait(void* argument) {
  const std::unique_ptr<std::shared_ptr<State>> shared(static_cast<std::shared_ptr<State>*>(argument));
  State& state = **shared;
  const double end = host_now_ns() + kPatienceNs;
  while (!state.open.load(std::memory_order_acquire)) {
    if (host_now_ns() < end) continue;
    state.gave_up.store(true, std::memory_order_release);
    return;
  }
}

}  // namespace lenslet
