// The data caches of the cores that this process may run on.
#pragma once

#include <cstddef>
#include <string>

namespace lenslet {

/// The caches of one level.
struct CpuCaches {
  size_t bytes = 0;  // size of each
  int count = 0;     // number that these cores use; several cores may share one
};

/// The data or unified caches of a level, 1 to 3, read from the core descriptions in `folder`. If those are missing,
/// `count` is 0. sysconf() is not used: it may return the sum over a package, most of which these cores cannot reach.
CpuCaches cpu_caches(int level, const std::string& folder = "/sys/devices/system/cpu");

}  // namespace lenslet
