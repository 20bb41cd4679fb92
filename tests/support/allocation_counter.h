// Counts what operator new and posix_memalign() (a Buffer's memory on the CPU) hand out, to show that running allocates
// nothing. Threads of the pool count too.
#pragma once

namespace lenslet {

class AllocationCounter {
 public:
  AllocationCounter();
  /// Since this counter was made.
  long allocations() const;

 private:
  long before_;
};

}  // namespace lenslet
