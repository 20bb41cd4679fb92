// A thread that runs the tasks of other threads between its own.
#pragma once

#include <functional>

namespace lenslet::serve {

/// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `task` later, on the thread of this executor. `task` must not throw. If there is no memory, throws and drops
  /// the task.
  virtual void run(std::function<void()> task) = 0;
};

}  // namespace lenslet::serve
