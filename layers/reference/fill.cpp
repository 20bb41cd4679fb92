#include "layers/reference/fill.h"

#include <algorithm>
#include <cmath>

#include "framework/base/interruption.h"
#include "framework/base/parallel.h"

namespace lenslet::reference {

const char* to_string(Fill fill) noexcept {
  switch (fill) {
    case Fill::kIntegers:
      return "integers";
    case Fill::kRandom:
      return "random";
    case Fill::kNormal:
      return "normal";
    case Fill::kOneHot:
      return "one-hot";
  }
  return "?";
}

uint64_t Random::next() noexcept {
  state_ += kStep;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float Random::uniform() noexcept {
  // 24 bits, so that every value is exact in fp32.
  return static_cast<float>(static_cast<int64_t>(next() >> 40) - (int64_t{1} << 23)) * 0x1p-23f;
}

namespace {

/// Uses `draws` random numbers per value, so that a thread can begin at any value.
template <typename Make>
std::vector<float> draw_each(size_t count, uint64_t seed, uint64_t draws, Make make) {
  constexpr int64_t kBlock = int64_t{1} << 16;  // between two looks at the stop flag: about a millisecond
  std::vector<float> values(count);
  parallel_for(static_cast<int64_t>(count), kBlock, [&](int64_t begin, int64_t end) {
    Random random = Random(seed).ahead(draws * static_cast<uint64_t>(begin));
    for (int64_t block = begin; block < end; block += kBlock) {
      throw_if_stopped("generating data");
      for (int64_t i = block; i < std::min(end, block + kBlock); ++i)
        values[static_cast<size_t>(i)] = make(random);
    }
  });
  return values;
}

}  // namespace

std::vector<float> small_integers(size_t count, uint64_t seed) {
  return draw_each(count, seed, 1,
                   [](Random& random) { return static_cast<float>(static_cast<int>(random.below(9)) - 4); });
}

std::vector<float> uniform_values(size_t count, uint64_t seed) {
  return draw_each(count, seed, 1, [](Random& random) { return random.uniform(); });
}

std::vector<float> normal_values(size_t count, uint64_t seed) {
  // Box and Muller (1958), one of the two values: u in (0, 1], so that the logarithm is finite.
  return draw_each(count, seed, 2, [](Random& random) {
    constexpr double kTurn = 6.283185307179586;
    const double u = static_cast<double>((random.next() >> 11) + 1) * 0x1p-53;
    const double angle = kTurn * static_cast<double>(random.next() >> 11) * 0x1p-53;
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
  });
}

std::vector<float> one_hot(size_t samples, size_t sample_size, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(samples * sample_size);
  for (size_t i = 0; i < samples; ++i) values[i * sample_size + random.below(sample_size)] = 1.0f;
  return values;
}

std::vector<float> distinct_integers(size_t count, uint64_t seed, int period) {
  Random random(seed);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i % static_cast<size_t>(period) + 1);
    values[i] = random.below(2) == 0 ? value : -value;
  }
  return values;
}

}  // namespace lenslet::reference
