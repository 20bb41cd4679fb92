// State shared by all calls of one process: its threads, which a fork does not copy.
#pragma once

#include <shared_mutex>

namespace lenslet::python {

/// Held by every call that computes; a signal handler may compute within a call. Throws std::runtime_error in a process
/// forked from one that computed before: threads and CUDA do not survive a fork, and a loop would wait for them
/// forever.
class Computation {
 public:
  Computation();
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// Calls lenslet::set_num_threads once no call computes. Throws std::runtime_error if a signal handler calls it during
/// a computation.
void set_threads(int count);

}  // namespace lenslet::python
