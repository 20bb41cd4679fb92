// What other programs take of the machine while this one measures: their work makes its times longer.
#pragma once

#include <string>

#include "apps/common/system/conditions.h"

namespace lenslet {

/// Time of the cores that this process may use, since the object was made.
class OtherLoad {
 public:
  OtherLoad();
  /// Mean number of cores that others used: other processes, and other virtual machines. NaN if Linux does not report
  /// it (/proc/stat), or if less than a tenth of a second has passed.
  double cores() const;
  int allowed_cores() const noexcept { return allowed_; }

 private:
  int allowed_ = 0;
  double start_s_, busy_s_, own_s_;
};

/// The line that a command prints if others used the machine while it measured; empty if they did not, or if that is
/// unknown. `after`: at the end of the measurement.
std::string busy_note(double other_cores, int allowed_cores, const Conditions& after);

}  // namespace lenslet
