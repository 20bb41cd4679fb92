// Batcher: collects the samples of several requests into one pass.
//
// One thread computes. It takes the requests that wait, in order of arrival, up to `max_batch` samples together; with
// `max_delay` it waits that long after the first one for more. A pass has pixels or values, as the request has that
// arrived first; requests of the other kind wait for the next pass. A request is never divided between passes of the
// batcher: one that is larger than `max_batch` is computed alone. Where a pass of one sample takes less time than
// handing it to another thread, the thread that brings the sample computes it (AtOnce).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "apps/lenslet/serve/samples.h"

namespace lenslet::serve {

struct BatcherOptions {
  int64_t max_batch = 64;                  // samples
  std::chrono::microseconds max_delay{0};  // after the first request of a batch
  int64_t max_queue = 1024;  // samples that may wait; a request to an empty queue is always taken
};

/// Thread-safe.
class Batcher {
 public:
  /// Computes outputs [count, …] of inputs [count, …]; called by one thread. May throw.
  using Compute = std::function<std::vector<float>(const Samples& inputs, int64_t count)>;
  /// Computes the outputs of one sample on the calling thread, any number of threads at a time, or returns false where
  /// it cannot do so now. May throw.
  using AtOnce = std::function<bool(const Samples& input, std::vector<float>& outputs)>;
  /// Receives the outputs of the request, or why there are none. Called once by the thread that computed them: the
  /// batcher's, or before submit() returns the caller's. Must not throw.
  using Receive = std::function<void(std::vector<float> outputs, const std::string& error)>;

  /// `at_once` may be empty; with `max_delay` it is not used, since a sample then waits for others.
  Batcher(const BatcherOptions& options, Compute compute, AtOnce at_once = {});
  /// Computes what waits, then ends.
  ~Batcher();

  /// Returns false, and never calls `receive`, if the queue is full. `samples` [count, …], count >= 1.
  bool submit(Samples samples, int64_t count, Receive receive);

  struct Counts {
    int64_t waiting = 0;  // samples
    int64_t samples = 0, passes = 0, refused = 0;
  };
  Counts counts() const;

 private:
  struct Request {
    Samples samples;
    int64_t count;
    Receive receive;
    std::chrono::steady_clock::time_point arrived;
  };
  using Requests = std::list<Request>;  // a batch is taken out of the queue without memory
  bool computed_at_once(const Samples& samples, const Receive& receive);
  void work();
  Requests next_batch();
  void compute(const Requests& batch);

  const BatcherOptions options_;
  const Compute compute_;
  const AtOnce at_once_;
  std::atomic<int64_t> single_passes_{0};  // by at_once_
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  Requests queue_;
  Counts counts_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lenslet::serve
