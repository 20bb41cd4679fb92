// Counts calls of operator new and posix_memalign() (a Buffer's memory on the CPU), also in the pool's threads, to show
// that running allocates nothing.
#pragma once

namespace lenslet {

class AllocationCounter {
 public:
  AllocationCounter();
  /// Allocations since this counter was created.
  long allocations() const;

 private:
  long before_;
};

}  // namespace lenslet
