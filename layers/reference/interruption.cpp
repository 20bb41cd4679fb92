#include "layers/reference/interruption.h"

#include <atomic>

#include "framework/base/error.h"

namespace lenslet::reference {
namespace {

std::atomic<Stop> stop_function{nullptr};

}  // namespace

void stop_when(Stop stop) noexcept { stop_function = stop; }

void throw_if_stopped() {
  const Stop stop = stop_function.load(std::memory_order_relaxed);
  if (stop != nullptr && stop()) throw InterruptedError("interrupted while the reference was computed");
}

}  // namespace lenslet::reference
