// Counters of the server, in Prometheus' text format.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "apps/lenslet/serve/batches/batcher.h"
#include "apps/lenslet/serve/protocol/routes.h"

namespace lenslet::serve {

/// What the listener counts. body_bytes: reserved for the bodies of requests that are being read or answered.
struct ConnectionCounts {
  std::atomic<int64_t> open{0}, accepted{0}, refused{0}, timed_out{0}, body_bytes{0};
};

/// Thread-safe, without a lock.
class Metrics {
 public:
  /// Two or three to a decade, from a pass of LeNet-5 on a GPU to one of a large network on a CPU.
  static constexpr std::array<double, 12> kBounds = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005,
                                                     0.01,   0.02,   0.05,   0.1,   0.5,   2};  // seconds

  /// A request that was answered. `status` is one of HTTP.
  void answered(Endpoint endpoint, int status, std::chrono::nanoseconds time) noexcept;
  /// The text of `GET /metrics`.
  std::string text(const Batcher::Counts& batches, const ConnectionCounts& connections) const;

 private:
  using Count = std::atomic<int64_t>;
  /// Apart, so that threads that answer at different paths share no line of a cache.
  struct alignas(64) Answers {
    /// Answers above the bound before and up to their own; the last: above all.
    std::array<Count, kBounds.size() + 1> times{};
    Count nanoseconds{0};
    std::array<Count, 600> statuses{};
  };
  std::array<Answers, kEndpoints> answers_;
};

}  // namespace lenslet::serve
