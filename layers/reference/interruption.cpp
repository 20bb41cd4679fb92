#include "layers/reference/interruption.h"

#include <atomic>

#include "framework/base/error.h"

namespace lenslet::reference {
namespace {

std::atomic<Stop> asked{nullptr};

}  // namespace

void stop_when(Stop stop) noexcept { asked = stop; }

void throw_if_stopped() {
  const Stop stop = asked.load(std::memory_order_relaxed);
  if (stop != nullptr && stop()) throw InterruptedError("interrupted while the reference was computed");
}

}  // namespace lenslet::reference
