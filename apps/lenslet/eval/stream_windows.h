// StreamWindows: the time of an image in the parts of a stream, from which the spread of its rate is known.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "framework/measuring/statistics.h"

namespace lenslet {

class StreamWindows {
 public:
  /// With 20 windows p10 and p90 are not the extremes; more of them would be shorter.
  static constexpr int64_t kWindows = 20;

  /// The windows of a stream of `chunks` chunks that begins at `start_ns`; none if there are fewer than kWindows.
  StreamWindows(int64_t chunks, double start_ns) : chunks_(chunks / kWindows), begin_ns_(start_ns) {
    samples_ns_.reserve(static_cast<size_t>(kWindows));
  }

  /// The results of a chunk of `images` images came at `now_ns`: the last chunk of a stream may have fewer than the
  /// others. Returns whether it ended a window.
  bool landed(int64_t images, double now_ns) {
    images_ += images;
    if (chunks_ == 0 || ++landed_ % chunks_ != 0 || samples_ns_.size() == static_cast<size_t>(kWindows))
      return false;
    samples_ns_.push_back((now_ns - std::exchange(begin_ns_, now_ns)) /
                          static_cast<double>(std::exchange(images_, 0)));
    return true;
  }

  /// Nanoseconds per image, a sample a window.
  TimeStats summary() const { return summarise(samples_ns_); }

 private:
  int64_t chunks_;  // of a window
  int64_t landed_ = 0, images_ = 0;
  double begin_ns_;
  std::vector<double> samples_ns_;
};

}  // namespace lenslet
