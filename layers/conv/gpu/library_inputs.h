// What convolutions of vendor libraries are prepared with: filters in their order and data to time them on. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/conv/conv_problem.h"

namespace lenslet {

/// [K, C/G, R, S] to [K, R, S, C/G].
inline std::vector<float> channels_last(const Conv2dProblem& problem, const float* weights) {
  const int64_t channels = problem.c / problem.groups, taps = int64_t{problem.r} * problem.s;
  std::vector<float> packed(static_cast<size_t>(problem.k * channels * taps));
  for (int64_t k = 0; k < problem.k; ++k) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        packed[static_cast<size_t>((k * taps + tap) * channels + c)] =
            weights[(k * channels + c) * taps + tap];
      }
    }
  }
  return packed;
}

/// Random data to time on: from -1 to 1, the same in every run.
inline std::vector<float> timing_values(size_t count) {
  std::vector<float> values(count);
  uint32_t state = 2463534242u;  // xorshift (Marsaglia 2003)
  for (float& value : values) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
  }
  return values;
}

}  // namespace lenslet
