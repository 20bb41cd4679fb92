// Counters of the server, in Prometheus' text format.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "apps/lenslet/serve/batcher.h"

namespace lenslet::serve {

/// What the listener counts. body_bytes: reserved for the bodies of requests that are being read or answered.
struct ConnectionCounts {
  std::atomic<int64_t> open{0}, accepted{0}, refused{0}, timed_out{0}, body_bytes{0};
};

/// Thread-safe.
class Metrics {
 public:
  static constexpr std::array<double, 12> kBounds = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005,
                                                     0.01,   0.02,   0.05,   0.1,   0.5,   2};  // seconds

  /// A request that was answered. `endpoint` is one of a few names.
  void answered(const char* endpoint, int status, std::chrono::nanoseconds time);
  /// The text of `GET /metrics`.
  std::string text(const Batcher::Counts& batches, const ConnectionCounts& connections) const;

 private:
  struct Times {
    std::array<int64_t, kBounds.size()> at_most{};  // by bound, cumulative
    int64_t count = 0;
    double seconds = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
  std::map<std::string, Times> times_;
};

}  // namespace lenslet::serve
