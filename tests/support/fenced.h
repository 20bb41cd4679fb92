// Memory at an edge to a page without access: a test that reads or writes beyond it ends at once.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "framework/base/integer_math.h"

namespace lenslet::test {

/// The side of a Fenced array that the page without access touches.
enum class Fence { kBefore, kBehind };

/// `count` floats, zero.
class Fenced {
 public:
  Fenced(size_t count, Fence fence) : count_(count) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t bytes = count * sizeof(float), inner = align_up(bytes, page);
    mapped_bytes_ = inner + 2 * page;
    mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    char* const open = static_cast<char*>(mapped_) + page;
    if (::mprotect(open, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<float*>(fence == Fence::kBefore ? open : open + inner - bytes);
  }
  ~Fenced() { ::munmap(mapped_, mapped_bytes_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  float* data() noexcept { return data_; }
  float* begin() noexcept { return data_; }
  float* end() noexcept { return data_ + count_; }
  size_t size() const noexcept { return count_; }

 private:
  size_t count_, mapped_bytes_ = 0;
  void* mapped_ = nullptr;
  float* data_ = nullptr;
};

}  // namespace lenslet::test
