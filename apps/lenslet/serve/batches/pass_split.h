// How samples are divided between passes of several sizes.
#pragma once

#include <cstdint>
#include <vector>

namespace lenslet::serve {

/// A pass of `size` samples. With fewer samples it takes the same time.
struct PassTime {
  int64_t size;
  double time_us;
};

/// Samples that passes of one size compute; the last of these passes may have fewer.
struct PassCount {
  int64_t size, count;
};

/// The passes for `count` samples, in order, that take the least time. The remainder of the large passes is computed by
/// smaller ones, or by one that it does not fill. `passes` have descending sizes, the last 1.
std::vector<PassCount> split_into_passes(int64_t count, const std::vector<PassTime>& passes);

}  // namespace lenslet::serve
