// Threads with a bounded queue of tasks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "framework/base/start_thread.h"

namespace lenslet::serve {

/// Thread-safe. Tasks begin in order, each on the next free thread, and must not throw.
class TaskQueue {
 public:
  /// Throws MemoryError if the system refuses a thread.
  explicit TaskQueue(size_t max_waiting, int threads = 1) : max_waiting_(max_waiting) {
    threads_.reserve(static_cast<size_t>(threads));
    try {
      for (int i = 0; i < threads; ++i)
        threads_.push_back(start_thread("a thread of the server", [this] { work(); }));
    } catch (...) {  // the system starts no more threads
      end();
      throw;
    }
  }
  /// Runs what waits, then ends.
  ~TaskQueue() { end(); }

  /// Returns false, and never runs the task, if `max_waiting` wait.
  bool submit(std::function<void()> task) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (tasks_.size() >= max_waiting_) return false;
      tasks_.push_back(std::move(task));
    }
    arrived_.notify_one();
    return true;
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        arrived_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    arrived_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lenslet::serve
