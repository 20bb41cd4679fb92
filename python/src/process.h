// What the calls of one process share: its threads, which a fork does not copy.
#pragma once

#include <shared_mutex>

namespace lenslet::python {

/// Held by every call that computes; a signal handler may compute within one. Throws std::runtime_error in a process
/// forked from one that computed before: neither threads nor CUDA survive a fork, and a loop that waits for them would
/// wait for ever.
class Computation {
 public:
  Computation();
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// lenslet::set_num_threads, once no call computes. Throws std::runtime_error where a signal handler calls it within
/// one.
void set_threads(int count);

}  // namespace lenslet::python
