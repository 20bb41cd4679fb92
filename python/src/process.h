// What the calls of one process share: its threads, which a fork does not copy.
#pragma once

#include <shared_mutex>

namespace lenslet::python {

/// Held by every call that computes. Throws std::runtime_error in a process forked from one that computed before: neither
/// threads nor CUDA survive a fork, and a loop that waits for them would wait for ever.
class Computation {
 public:
  Computation();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

/// lenslet::set_num_threads, once no call computes.
void set_threads(int count);

}  // namespace lenslet::python
