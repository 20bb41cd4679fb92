// When memory in use counts as leaked.
#pragma once

#include <cstdint>

namespace lenslet::test {

/// Memory that grows in each of kGrowthRounds rounds, by more than kMaxGrowth bytes, is a leak. Growth in one round is
/// a library's cache or, of a device, another program's memory.
constexpr int kGrowthRounds = 3;
constexpr int64_t kMaxGrowth = int64_t{1} << 20;

}  // namespace lenslet::test
