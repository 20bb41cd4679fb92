#include "framework/base/own_threads.h"

#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/serial_loops.h"
#include "framework/base/start_thread.h"

namespace lenslet {
namespace {

// Moves the calling thread. If the system refuses, the thread stays where it is: a place far from the device costs
// speed only.
void move_to(const std::vector<int>& processors) noexcept {
  cpu_set_t allowed, wanted;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_ZERO(&wanted);
  for (const int processor : processors) {
    if (processor >= 0 && processor < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(processor), &allowed))
      CPU_SET(static_cast<unsigned>(processor), &wanted);
  }
  if (CPU_COUNT(&wanted) > 0) (void)sched_setaffinity(0, sizeof wanted, &wanted);
}

}  // namespace

struct OwnThreads::State {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::condition_variable begin, end;
  std::function<void(int)> body;
  uint64_t round = 0;
  int running = 0;
  bool stop = false;
  std::vector<std::thread> threads;

  void work(int index, const std::vector<int>& processors) {
    move_to(processors);
    const SerialLoops alone;
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      begin.wait(lock, [&] { return stop || round != seen; });
      if (stop) return;
      seen = round;
      lock.unlock();
      body(index);
      lock.lock();
      if (--running == 0) end.notify_all();
    }
  }

  void end_threads() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    begin.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
};

OwnThreads::OwnThreads(int count, const std::vector<int>& processors) : state_(std::make_unique<State>()) {
  State& state = *state_;
  try {
    state.threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      state.threads.push_back(start_thread(concat("thread ", i + 1, " of ", count, " for a device"),
                                           [&state, i, processors] { state.work(i, processors); }));
    }
  } catch (...) {
    state.end_threads();
    throw;
  }
}

OwnThreads::~OwnThreads() {
  if (state_->process == ::getpid()) {
    state_->end_threads();
  } else {
    // In a forked process the copies of the mutex and of the threads cannot be destroyed.
    (void)state_.release();
  }
}

int OwnThreads::count() const noexcept { return static_cast<int>(state_->threads.size()); }

void OwnThreads::start(std::function<void(int)> body) {
  if (state_->process != ::getpid())
    throw DeviceError("this process was forked from the one that loaded the model: load the model in it");
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->running > 0) throw std::logic_error("OwnThreads: the threads still run the previous body");
    state_->body = std::move(body);
    state_->running = count();
    ++state_->round;
  }
  state_->begin.notify_all();
}

void OwnThreads::wait() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->end.wait(lock, [&] { return state_->running == 0; });
}

}  // namespace lenslet
