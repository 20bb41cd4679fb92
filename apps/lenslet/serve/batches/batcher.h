// Batcher: collects the samples of several requests into one pass.
//
// One thread computes. It takes the requests that wait, in order of arrival, up to `max_batch` samples together; with
// `max_delay` it waits that long after the first one for more. The first request decides whether a pass reads pixels or
// values; requests of the other kind wait for the next pass. A request is never divided between passes of the batcher:
// one that is larger than `max_batch` is computed alone. All requests pass this one thread, so it only computes. The
// threads that submitted the requests send the outputs; each is woken once for all of its outputs of a pass. If a pass
// of one sample takes less time than a change of threads, the submitting thread computes it (AtOnce).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "apps/lenslet/serve/executor.h"
#include "apps/lenslet/serve/protocol/samples.h"

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
  /// Computes the outputs of one sample on the calling thread. Returns false if it cannot do so now. Called by any
  /// number of threads at a time. May throw.
  using AtOnce = std::function<bool(const Samples& input, std::vector<float>& outputs)>;
  /// The outputs of one request [count, …]: a part of the outputs of its pass.
  struct Outputs {
    const float* data = nullptr;
    size_t size = 0;
    const float* begin() const noexcept { return data; }
    const float* end() const noexcept { return data + size; }
  };
  /// Receives the outputs of the request, which live until it returns, or why there are none. Must not throw.
  using Receive = std::function<void(const Outputs& outputs, const std::string& error)>;

  /// `at_once` may be empty. It is not used with `max_delay`: a sample then waits for others.
  Batcher(const BatcherOptions& options, Compute compute, AtOnce at_once = {});
  /// Computes the requests that wait, then ends.
  ~Batcher();

  /// Returns false, and never calls `receive`, if the queue is full. `samples` [count, …], count >= 1. `receive` is
  /// called once: before submit() returns if the caller computed, else by `receiver`, which must outlive the batcher.
  /// The batcher's thread calls it if there is no receiver or no memory for a task.
  bool submit(Samples samples, int64_t count, Receive receive, Executor* receiver = nullptr);

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
    Executor* receiver;
    Outputs outputs;
    std::chrono::steady_clock::time_point arrived;
  };
  using Requests = std::list<Request>;  // a batch is taken out of the queue, and divided, without memory
  bool computed_at_once(const Samples& samples, const Receive& receive);
  void work();
  Requests next_batch();
  void compute(Requests batch);
  static void hand_over(Requests batch, const std::shared_ptr<const std::vector<float>>& outputs,
                        const std::string& error);
  static void receive(const Requests& requests, const std::string& error);

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
