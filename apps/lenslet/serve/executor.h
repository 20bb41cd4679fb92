// A thread that runs the tasks of other threads between its own.
#pragma once

#include <functional>

namespace lenslet::serve {

/// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `task` on the thread of this executor, later. `task` must not throw. Throws where memory is short, and then
  /// drops the task.
  virtual void run(std::function<void()> task) = 0;
};

}  // namespace lenslet::serve
