// The host's clock for timing.
#pragma once

#include <chrono>

namespace lenslet {

/// Steady clock, nanoseconds.
inline double host_now_ns() noexcept {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace lenslet
