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
  /// Takes `min_samples`, then more until `time_ms` have passed or there are `max_samples`. Calls `stop` before each
  /// sample except the first; true ends the loop.
  explicit Sampler(double time_ms, int min_samples = 1, int max_samples = INT_MAX,
                   std::function<bool()> stop = {})
      : end_ns_(host_now_ns() + time_ms * 1e6),
        min_samples_(min_samples),
        max_samples_(max_samples),
        stop_(std::move(stop)) {}
  bool next() {
    const int taken = taken_++;
    if (taken > 0 && stop_ && stop_()) return false;
    return taken < min_samples_ || (taken < max_samples_ && host_now_ns() < end_ns_);
  }

 private:
  double end_ns_;
  int min_samples_, max_samples_, taken_ = 0;
  std::function<bool()> stop_;
};

}  // namespace lenslet
