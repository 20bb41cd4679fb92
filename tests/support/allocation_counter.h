// Counts calls of operator new and posix_memalign() (a Buffer's memory on the CPU), also in the pool's threads, to show
// that running allocates nothing; or makes operator new fail.
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

/// While it exists, operator new throws std::bad_alloc in every thread but its own.
class NoMemoryElsewhere {
 public:
  NoMemoryElsewhere();
  ~NoMemoryElsewhere();
  NoMemoryElsewhere(const NoMemoryElsewhere&) = delete;
  NoMemoryElsewhere& operator=(const NoMemoryElsewhere&) = delete;
};

}  // namespace lenslet
