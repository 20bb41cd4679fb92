// Threads of one owner, on processors that it chooses. parallel_for runs one loop of the process at a time; several
// OwnThreads can compute at the same time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace lenslet {

/// Not thread-safe. Loops of parallel_for inside the threads run in the thread that begins them. A forked process has
/// the object without its threads: there it can only be destroyed.
class OwnThreads {
 public:
  /// Starts `count` threads. They run on those `processors` on which this process may run; on any if it may run on none
  /// of them. Throws MemoryError if the system refuses a thread.
  explicit OwnThreads(int count, const std::vector<int>& processors = {});
  ~OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

  /// As the constructor received it.
  int count() const noexcept;
  /// Begins body(i) in each thread i and returns. `body` must not throw. Throws std::logic_error before wait() has
  /// ended the previous one, DeviceError in a forked process.
  void start(std::function<void(int)> body);
  /// Waits until every thread has returned from the body of start().
  void wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lenslet
