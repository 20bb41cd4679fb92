#include "tests/support/allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> count{0};
std::atomic<bool> exhausted{false};
thread_local bool spared = false;

void* allocate(std::size_t bytes) noexcept {
  ++count;
  return exhausted && !spared ? nullptr : std::malloc(bytes ? bytes : 1);
}
}  // namespace

void* operator new(std::size_t bytes) {
  if (void* data = allocate(bytes)) return data;
  throw std::bad_alloc();
}
// std::stable_sort's buffer comes from here; a sanitizer requires matching new and delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

// For over-aligned types.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++count;
  if (void* data = memalign(static_cast<std::size_t>(alignment), bytes)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }

// Buffer calls this function on the CPU. It replaces that of the C library or sanitizer, but not memalign(), so that
// free() still matches.
extern "C" int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) noexcept {
  ++count;
  *data = memalign(alignment, bytes);
  return *data ? 0 : ENOMEM;
}

namespace lenslet {
AllocationCounter::AllocationCounter() : before_(count.load()) {}
long AllocationCounter::allocations() const { return count.load() - before_; }

NoMemoryElsewhere::NoMemoryElsewhere() { exhausted = spared = true; }
NoMemoryElsewhere::~NoMemoryElsewhere() { exhausted = spared = false; }
}  // namespace lenslet
