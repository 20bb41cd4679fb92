#include "framework/io/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/interruption.h"
#include "framework/base/text.h"
#include "framework/io/file.h"

namespace lenslet {

void MemoryBytes::read(uint64_t offset, void* into, size_t bytes) const {
  if (offset > bytes_.size() || bytes > bytes_.size() - offset)
    throw DataError(
        concat("expected ", bytes, " bytes at offset ", offset, ", found ", bytes_.size(), " in all"));
  if (bytes > 0) std::memcpy(into, bytes_.data() + offset, bytes);
}

FileBytes::FileBytes(const std::string& path) : name_(printable_excerpt(path)) {
  struct stat status {};
  descriptor_ = open_regular_file(path, status);
  size_ = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
}

FileBytes::~FileBytes() { ::close(descriptor_); }

void FileBytes::read(uint64_t offset, void* into, size_t bytes) const {
  auto* to = static_cast<char*>(into);
  while (bytes > 0) {
    if (stopped()) throw InterruptedError(concat("interrupted while reading ", name_));
    const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(concat(name_, ": cannot be read: ", std::strerror(errno)));
    if (got == 0) throw DataError(concat(name_, ": it became shorter while it was read"));
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

}  // namespace lenslet
