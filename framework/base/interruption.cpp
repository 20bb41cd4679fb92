#include "framework/base/interruption.h"

#include <atomic>

#include "framework/base/error.h"

namespace lenslet {
namespace {

std::atomic<bool (*)()> stop_function{nullptr};

}  // namespace

void stop_when(bool (*stop)()) noexcept { stop_function = stop; }

bool stopped() {
  bool (*const stop)() = stop_function.load(std::memory_order_relaxed);
  return stop != nullptr && stop();
}

void throw_if_stopped(const char* doing) {
  if (stopped()) throw InterruptedError(concat("interrupted while ", doing));
}

}  // namespace lenslet
