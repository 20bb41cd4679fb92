// Input data for verification: each kind detects mistakes that the others miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lenslet::reference {

/// Kinds of test data.
enum class Fill {
  kIntegers,  // small integers: any order of exact arithmetic gives the same bits
  kRandom,    // uniform in [-1, 1): rounding as in use
  kNormal,    // normal with mean 0 and standard deviation 1
  kOneHot     // a single 1 per sample: shows which weight each output used
};

/// "integers", "random", "normal" or "one-hot".
const char* to_string(Fill fill) noexcept;

/// A small deterministic generator (splitmix64: Steele, Lea, Flood 2014), the same on every platform.
class Random {
 public:
  /// The same seed, the same numbers.
  explicit Random(uint64_t seed) : state_(seed) {}
  /// 64 random bits.
  uint64_t next() noexcept;
  /// Skips `count` values.
  Random ahead(uint64_t count) const noexcept { return Random(state_ + count * kStep); }
  /// Uniform in [0, bound), bound >= 1.
  uint64_t below(uint64_t bound) noexcept { return next() % bound; }
  /// Uniform in [-1, 1), a multiple of 2^-23.
  float uniform() noexcept;

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  uint64_t state_;
};

/// Integers in [-4, 4]: 16 * terms stays below 2^24 for a million terms, and all are exact in fp16 and tf32.
std::vector<float> small_integers(size_t count, uint64_t seed);
/// In [-1, 1).
std::vector<float> uniform_values(size_t count, uint64_t seed);
/// Mean 0, deviation 1.
std::vector<float> normal_values(size_t count, uint64_t seed);
/// `samples` runs of `sample_size` zeros, each with a single 1 at a place that depends on the seed.
std::vector<float> one_hot(size_t samples, size_t sample_size, uint64_t seed);
/// 1, 2, 3, … modulo `period`, signs alternating at random: neighbours always differ, all exact in fp16.
std::vector<float> distinct_integers(size_t count, uint64_t seed, int period = 1021);

}  // namespace lenslet::reference
