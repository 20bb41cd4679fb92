#include "python/src/process.h"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "framework/base/parallel.h"

namespace lenslet::python {
namespace {

thread_local int computing_here = 0;  // computations in progress in this thread

struct Lock {
  // Held while a caller waits to change the number of threads, so that no new call starts first.
  std::mutex door;
  std::shared_mutex computing;
};

Lock& threads_lock() {
  static Lock lock;
  return lock;
}

// Called before any lock: in a forked child a lock may be held by a thread that does not exist there.
void check_not_forked() {
  static std::atomic<pid_t> owner{0};
  const pid_t here = getpid();
  pid_t first = 0;
  if (owner.compare_exchange_strong(first, here) || first == here) return;
  throw std::runtime_error(
      "lenslet computed before this process was forked, and a fork copies no threads: start workers by "
      "'spawn' or 'forkserver', or call lenslet only in the workers");
}

}  // namespace

Computation::Computation() {
  check_not_forked();
  // A nested computation of the same thread already holds the lock; waiting for the door could deadlock.
  if (computing_here == 0) {
    const std::lock_guard<std::mutex> door(threads_lock().door);
    lock_ = std::shared_lock<std::shared_mutex>(threads_lock().computing);
  }
  ++computing_here;
}

Computation::~Computation() { --computing_here; }

void set_threads(int count) {
  check_not_forked();
  if (computing_here > 0) {
    throw std::runtime_error(
        "set_num_threads was called by a signal handler while the call that it interrupted computes: call it "
        "after that");
  }
  const std::lock_guard<std::mutex> door(threads_lock().door);
  const std::unique_lock<std::shared_mutex> lock(threads_lock().computing);
  set_num_threads(count);
}

}  // namespace lenslet::python
