// Internal: waiting for a word in memory that a GPU writes.
#pragma once

#include <cstdint>

namespace lenslet {

/// A hint to the processor that this is a spin loop.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns once `ready()`; calls `check()` after every few microseconds of waiting, which may throw.
template <typename Ready, typename Check>
void spin_until(const Ready& ready, const Check& check) {
  constexpr uint32_t kSpinsBetweenChecks = 256;
  for (uint32_t spins = 1; !ready(); ++spins) {
    spin_pause();
    if (spins % kSpinsBetweenChecks == 0) check();
  }
}

/// Reads one word atomically, without ordering.
inline uint64_t load_word(const uint64_t& word) noexcept { return __atomic_load_n(&word, __ATOMIC_RELAXED); }
inline void store_word(uint64_t& word, uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace lenslet
