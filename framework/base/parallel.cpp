#include "framework/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/choice_trace.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/serial_loops.h"
#include "framework/base/settings.h"
#include "framework/base/start_thread.h"

namespace lenslet {

namespace {

/// Cores that this process may run on.
int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::clamp(CPU_COUNT(&set), 1, kMaxThreads);
  return 1;
}

int default_threads() {
  if (const auto count = number_setting("LENSLET_NUM_THREADS", "a number", 1, kMaxThreads)) return *count;
  return available_cores();
}

thread_local bool inside_loop = false;

using Clock = std::chrono::steady_clock;

// The loops of a network follow each other within some microseconds, and to wake a sleeping thread takes 10 us or, in a
// virtual machine, more: a thread that waits first polls for this long. Longer than the layers that one thread computes
// alone, and short enough that an idle process uses no time.
constexpr std::chrono::microseconds kPollTime{100};
constexpr int kPollsPerClock = 32;  // reading the clock costs as much as some polls
// Where other processes need the cores, the system takes them from threads that poll, for milliseconds, and prefers
// those that slept. So threads sleep at once for a time after a loop that waited much longer than it computed, and
// after the system took the core from the caller more often than it does on an idle machine.
constexpr std::chrono::milliseconds kCrowdedTime{100}, kSwitchesTime{10};
constexpr int64_t kCrowdedSwitches = 2;

/// How often the system took the core from this thread.
int64_t core_losses() {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/// Polls from `start` until `done` returns true, or for kPollTime. Returns whether it did.
template <typename Done>
bool poll(Clock::time_point start, const Done& done) {
  do {
    for (int i = 0; i < kPollsPerClock; ++i) {
      if (done()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (Clock::now() - start < kPollTime);
  return false;
}

// Workers poll for the next loop, then sleep. The mutex orders changes of what sleeping threads wait for; the range
// bounds are written before the loop number and read after it. A worker takes part in a loop at most once, with the
// part of its index, so that the split does not depend on timing.
class Pool {
 public:
  /// Throws MemoryError if the system refuses a thread, after the started ones have ended.
  explicit Pool(int threads) : threads_(threads), polls_(threads <= available_cores()) {
    const auto refused = [&](const char* reason) {
      const size_t started = workers_.size();
      end_workers();
      return refused_thread(concat("thread ", started + 2, " of ", threads), reason);
    };
    try {
      workers_.reserve(static_cast<size_t>(threads - 1));
      for (int index = 1; index < threads; ++index) {
        workers_.emplace_back([this, index] { work(index); });
      }
    } catch (const std::system_error& error) {
      throw refused(error.code().message().c_str());
    } catch (const std::bad_alloc&) {
      throw refused("out of memory");
    }
  }

  ~Pool() { end_workers(); }

  int threads() const noexcept { return threads_; }

  /// In a forked child: the parent's pool, whose threads do not exist in the child. It can be neither used nor
  /// destroyed, and stays reachable here.
  Pool* next_abandoned = nullptr;

  /// Whether no thread sleeps. Otherwise wakes them, for a later loop, unless other processes need the cores.
  bool awake() {
    if (awake_.load(std::memory_order_relaxed) == threads_ - 1) return true;
    if (polls_at(Clock::now())) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++wakes_;
      }
      start_.notify_all();
    }
    return false;
  }

  void run(int64_t count, int64_t part, RangeBody body) {
    std::lock_guard<std::mutex> one_loop_at_a_time(loop_mutex_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      count_ = count;
      part_ = part;
      body_ = &body;
      pending_.store(threads_ - 1, std::memory_order_relaxed);
      failure_ = nullptr;
      loop_.fetch_add(1, std::memory_order_release);
    }
    const bool all_awake = awake_.load(std::memory_order_relaxed) == threads_ - 1;
    const Clock::time_point start = Clock::now();
    start_.notify_all();
    take_part(0);
    const auto done = [this] { return pending_.load(std::memory_order_acquire) == 0; };
    const Clock::time_point finished = Clock::now();
    if (!polls_at(finished) || !poll(finished, done)) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, done);
      }
      const Clock::time_point end = Clock::now();
      if (all_awake && end - finished > kPollTime + (finished - start)) crowded_until_ = end + kCrowdedTime;
    }
    if (polls_ && finished - switches_read_ > kSwitchesTime) count_switches(finished);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void end_workers() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void work(int index) {
    uint64_t seen = 0, wakes = 0;
    ++awake_;
    const auto called = [&] {
      return loop_.load(std::memory_order_acquire) != seen || stop_.load(std::memory_order_relaxed);
    };
    for (;;) {
      const Clock::time_point now = Clock::now();
      if (!polls_at(now) || !poll(now, called)) {
        std::unique_lock<std::mutex> lock(mutex_);
        --awake_;
        start_.wait(lock, [&] { return called() || wakes_ != wakes; });
        ++awake_;
        wakes = wakes_;
        if (!called()) continue;
      }
      if (stop_) return;
      seen = loop_.load(std::memory_order_acquire);
      take_part(index);
      if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::lock_guard<std::mutex> lock(mutex_);
        done_.notify_one();
      }
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

  void count_switches(Clock::time_point now) {
    const int64_t losses = core_losses();
    const std::thread::id caller = std::this_thread::get_id();
    const bool often = (losses - losses_) * kSwitchesTime >= kCrowdedSwitches * (now - switches_read_);
    if (caller == switches_of_ && often) crowded_until_ = now + kCrowdedTime;
    switches_of_ = caller;
    losses_ = losses;
    switches_read_ = now;
  }

  /// Whether a thread that waits from then on polls first.
  bool polls_at(Clock::time_point now) const {
    return polls_ && now >= crowded_until_.load(std::memory_order_relaxed);
  }

  const int threads_;
  const bool polls_;  // not with more threads than cores: a polling one would keep another from its work
  std::vector<std::thread> workers_;
  std::mutex loop_mutex_, mutex_;
  std::condition_variable start_, done_;
  std::atomic<Clock::time_point> crowded_until_{Clock::time_point{}};
  Clock::time_point switches_read_{};  // this and the next two: by the caller, under loop_mutex_
  std::thread::id switches_of_;
  int64_t losses_ = 0;
  std::atomic<int> awake_{0};  // workers
  uint64_t wakes_ = 0;         // a change wakes workers without a loop
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> loop_{0};
  std::atomic<int> pending_{0};
  int64_t count_ = 0, part_ = 0;
  const RangeBody* body_ = nullptr;
  std::exception_ptr failure_;
};

// What num_threads() is outside a module.
std::atomic<int>& own_num_threads() {
  static std::atomic<int> count{default_threads()};
  return count;
}

// Set only in a module.
ParallelHost& parallel_host() {
  static ParallelHost host{};
  return host;
}

// The pool of this process. A forked child has a copy without the threads, possibly locked by one of them. The child
// does not use it, and starts its own threads when it first needs them.
class ProcessPool {
 public:
  static ProcessPool& get() {
    static ProcessPool instance;
    return instance;
  }

  /// Shared, so that a loop that runs while the number changes ends on the threads that it began on.
  std::shared_ptr<Pool> with_threads(int count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!pool_ || pool_->threads() != count) {
      pool_.reset();
      pool_ = std::make_shared<Pool>(count);
      trace_choice("threads", count, " for the CPU side");
    }
    return pool_;
  }

 private:
  ProcessPool() {
    if (::pthread_atfork(nullptr, nullptr, [] { get().abandon(); }) != 0)
      throw MemoryError("pthread_atfork failed: out of memory");
  }

  // Runs in the child, which has one thread; allocates nothing.
  void abandon() {
    new (&mutex_) std::mutex;
    if (!pool_) return;
    pool_->next_abandoned = abandoned_;
    abandoned_ = pool_.get();
    new (never_destroyed_) std::shared_ptr<Pool>(std::move(pool_));
  }

  std::mutex mutex_;
  std::shared_ptr<Pool> pool_;
  Pool* abandoned_ = nullptr;
  alignas(std::shared_ptr<Pool>) unsigned char never_destroyed_[sizeof(std::shared_ptr<Pool>)] = {};
};

}  // namespace

void use_parallel_host(const ParallelHost& chosen) { parallel_host() = chosen; }

int num_threads() {
  return parallel_host().num_threads ? parallel_host().num_threads() : own_num_threads().load();
}

void set_num_threads(int count) {
  if (count < 1 || count > kMaxThreads) {
    throw UsageError(concat("the number of threads must be 1 to ", kMaxThreads, ", found ", count));
  }
  own_num_threads() = count;
}

void check_startable_threads(int count) { const Pool tried(count); }

namespace {

void run_loop(int64_t count, int64_t grain, RangeBody body, bool light) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int threads = own_num_threads();
  // Whole grains, split evenly; the last part may be short.
  const int64_t grains = ceil_div(count, grain);
  const int64_t part = ceil_div(grains, threads) * grain;
  if (inside_loop || threads == 1 || part >= count) return body(0, count);
  const std::shared_ptr<Pool> pool = ProcessPool::get().with_threads(threads);
  if (light && !pool->awake()) return body(0, count);
  pool->run(count, part, body);
}

}  // namespace

SerialLoops::SerialLoops() noexcept : before_(std::exchange(inside_loop, true)) {}
SerialLoops::~SerialLoops() { inside_loop = before_; }

void parallel_for(int64_t count, int64_t grain, RangeBody body) {
  if (parallel_host().parallel_for) return parallel_host().parallel_for(count, grain, body);
  run_loop(count, grain, body, false);
}

void parallel_for_light(int64_t count, int64_t grain, RangeBody body) {
  if (parallel_host().parallel_for) return parallel_host().parallel_for(count, grain, body);
  run_loop(count, grain, body, true);
}

}  // namespace lenslet
