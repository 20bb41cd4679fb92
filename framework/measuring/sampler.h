// Sampler: how long a timing loop goes on. Internal.
#pragma once

#include <climits>
#include <functional>
#include <utility>

#include "framework/base/clock.h"

namespace lenslet {

/// `while (sampler.next()) samples.push_back(…);`
class Sampler {
 public:
  /// Takes `least` samples, then more until `time_ms` have passed or there are `most`. Calls `stop` before each sample
  /// except the first; true ends the loop.
  explicit Sampler(double time_ms, int least = 1, int most = INT_MAX, std::function<bool()> stop = {})
      : end_ns_(host_now_ns() + time_ms * 1e6), least_(least), most_(most), stop_(std::move(stop)) {}
  bool next() {
    const int taken = taken_++;
    if (taken > 0 && stop_ && stop_()) return false;
    return taken < least_ || (taken < most_ && host_now_ns() < end_ns_);
  }

 private:
  double end_ns_;
  int least_, most_, taken_ = 0;
  std::function<bool()> stop_;
};

}  // namespace lenslet
