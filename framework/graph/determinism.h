// Determinism: which bits of a result a backend promises to repeat.
//
// Rounding depends on the order of a sum. That order depends on the algorithm, on the split of the work and on the
// choices of a library. A backend promises what it keeps fixed; the tests verify the promise.
#pragma once

#include <algorithm>

namespace lenslet {

/// From the weakest promise to the strongest; each includes those before it. Results that differ in bits still lie
/// within the backend's error bound.
enum class Determinism {
  /// One prepared operator repeats its bits. Another one may choose another algorithm by timing; a plan file keeps the
  /// choice.
  kBounded,
  /// The same request (shapes, math mode, plan) on the same machine with the same number of threads gives the same bits
  /// in every run, preparation and process. Another batch size or place in the batch may give others.
  kBitwise,
  /// The bits of a sample depend on that sample alone: not on its place in the batch, the batch size, the other
  /// samples, or the number of threads.
  kPosition
};

/// "bounded", "bitwise" or "position".
inline const char* to_string(Determinism determinism) noexcept {
  switch (determinism) {
    case Determinism::kBounded:
      return "bounded";
    case Determinism::kBitwise:
      return "bitwise";
    case Determinism::kPosition:
      return "position";
  }
  return "?";
}

/// The promise of two steps in sequence.
inline Determinism weaker(Determinism a, Determinism b) noexcept { return std::min(a, b); }

}  // namespace lenslet
