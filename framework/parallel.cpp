#include "framework/parallel.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "framework/error.h"

namespace lenslet {

namespace {

constexpr int kMaxThreads = 1024;

int default_threads() {
  if (const char* text = std::getenv("LENSLET_NUM_THREADS")) {
    const std::string_view digits(text);
    int count = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc() || stop != digits.data() + digits.size() || count < 1 || count > kMaxThreads) {
      throw UsageError(concat("LENSLET_NUM_THREADS must be 1 to ", kMaxThreads, ", found '", text, "'"));
    }
    return count;
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::clamp(CPU_COUNT(&set), 1, kMaxThreads);
  return 1;
}

thread_local bool inside_loop = false;

// Workers sleep between loops. Loop number and range bounds are guarded by one mutex; a worker takes part in
// a loop at most once, with the part that its index says, so that the split never depends on timing.
class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {
    for (int index = 1; index < threads; ++index) {
      workers_.emplace_back([this, index] { work(index); });
    }
  }

  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  int threads() const noexcept { return threads_; }

  void run(int64_t count, int64_t part, RangeBody body) {
    std::lock_guard<std::mutex> one_loop_at_a_time(loop_mutex_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      count_ = count;
      part_ = part;
      body_ = &body;
      pending_ = threads_ - 1;
      failure_ = nullptr;
      ++loop_;
    }
    start_.notify_all();
    take_part(0);
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return pending_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work(int index) {
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        start_.wait(lock, [&] { return stop_ || loop_ != seen; });
        if (stop_) return;
        seen = loop_;
      }
      take_part(index);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--pending_ == 0) done_.notify_one();
    }
  }

  void take_part(int index) {
    const int64_t begin = std::min(count_, index * part_), end = std::min(count_, begin + part_);
    if (begin >= end) return;
    inside_loop = true;
    try {
      (*body_)(begin, end);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    inside_loop = false;
  }

  const int threads_;
  std::vector<std::thread> workers_;
  std::mutex loop_mutex_, mutex_;
  std::condition_variable start_, done_;
  bool stop_ = false;
  uint64_t loop_ = 0;
  int pending_ = 0;
  int64_t count_ = 0, part_ = 0;
  const RangeBody* body_ = nullptr;
  std::exception_ptr failure_;
};

int& thread_count() {
  static int count = default_threads();
  return count;
}

// Set in a module alone.
ParallelHost& parallel_host() {
  static ParallelHost host{};
  return host;
}

std::unique_ptr<Pool>& pool() {
  static std::unique_ptr<Pool> instance;
  return instance;
}

Pool& current_pool() {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!pool() || pool()->threads() != thread_count()) {
    pool().reset();
    pool() = std::make_unique<Pool>(thread_count());
  }
  return *pool();
}

}  // namespace

void use_parallel_host(const ParallelHost& chosen) { parallel_host() = chosen; }

int num_threads() { return parallel_host().num_threads ? parallel_host().num_threads() : thread_count(); }

void set_num_threads(int count) {
  if (count < 1 || count > kMaxThreads) {
    throw UsageError(concat("the number of threads must be 1 to ", kMaxThreads, ", found ", count));
  }
  thread_count() = count;
}

void parallel_for(int64_t count, int64_t grain, RangeBody body) {
  if (count <= 0) return;
  if (parallel_host().parallel_for) return parallel_host().parallel_for(count, grain, body);
  grain = std::max<int64_t>(grain, 1);
  const int64_t threads = thread_count();
  // Whole grains, dealt evenly: the last part may be short.
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t part = (grains + threads - 1) / threads * grain;
  if (inside_loop || threads == 1 || part >= count) {
    body(0, count);
    return;
  }
  current_pool().run(count, part, body);
}

}  // namespace lenslet
