#include "tests/support/allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> count{0};
}

void* operator new(std::size_t bytes) {
  ++count;
  if (void* data = std::malloc(bytes ? bytes : 1)) return data;
  throw std::bad_alloc();
}
// std::stable_sort's buffer comes from here; a sanitizer wants each new to match its delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

// Buffer's memory, and that of operator new for types of more than the usual alignment. These go before the C library's and
// a sanitizer's; memalign() is left theirs, so that free() knows what it gets.
extern "C" int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) noexcept {
  ++count;
  *data = memalign(alignment, bytes);
  return *data ? 0 : ENOMEM;
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  ++count;
  return memalign(alignment, bytes);
}

namespace lenslet {
AllocationCounter::AllocationCounter() : before_(count.load()) {}
long AllocationCounter::allocations() const { return count.load() - before_; }
}  // namespace lenslet
