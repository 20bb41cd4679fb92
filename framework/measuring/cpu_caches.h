// The data caches of the cores that this process may run on.
#pragma once

#include <cstddef>
#include <string>

namespace lenslet {

/// The caches of one level.
struct CpuCaches {
  size_t bytes = 0;  // of one
  int count = 0;     // as many as these cores have; cores may share one
};

/// Data and unified caches of level 1 to 3, from the description of the cores in `folder`; count 0 if that is missing.
/// Sizes that processors state themselves, as sysconf() returns them, may be the sum of a whole package, most of which
/// these cores do not reach.
CpuCaches cpu_caches(int level, const std::string& folder = "/sys/devices/system/cpu");

}  // namespace lenslet
