#include "apps/lenslet/picture_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace lenslet {
namespace {

constexpr size_t kSmallFile = 256 << 10;  // a netpbm bitmap of that size has 2 Mi pixels
constexpr uint64_t kSmallPixels = 256
                                  << 10;  // 512 x 512: some 4 MiB with all that decoding and preparing take

// The first bytes of a regular file of at most kSmallFile bytes; empty for any other.
std::vector<uint8_t> read_small(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return {};
  struct stat status = {};
  std::vector<uint8_t> bytes;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<uint64_t>(status.st_size) <= kSmallFile) {
    bytes.resize(static_cast<size_t>(status.st_size));
    const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  }
  ::close(descriptor);
  return bytes;
}

uint64_t big_endian(const uint8_t* bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

bool small(uint64_t width, uint64_t height) { return width * height <= kSmallPixels; }  // each below 2^32

// The frame header (SOFn) is the first that says the size.
bool small_jpeg(const std::vector<uint8_t>& bytes) {
  for (size_t at = 2; at + 9 <= bytes.size() && bytes[at] == 0xff;) {
    const uint8_t marker = bytes[at + 1];
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) return small(big_endian(&bytes[at + 7], 2), big_endian(&bytes[at + 5], 2));
    at += 2 + big_endian(&bytes[at + 2], 2);
  }
  return false;
}

}  // namespace

bool surely_small_picture(const std::string& path) {
  const std::vector<uint8_t> bytes = read_small(path);
  if (bytes.size() < 26) return !bytes.empty();  // too short for any picture that is large
  const uint8_t* const head = bytes.data();
  if (std::memcmp(head, "\x89PNG", 4) == 0) return small(big_endian(head + 16, 4), big_endian(head + 20, 4));
  if (head[0] == 0xff && head[1] == 0xd8) return small_jpeg(bytes);
  // A netpbm file has a byte for at most eight pixels; what is none of these is refused without being decoded.
  return std::memcmp(head, "BM", 2) != 0;
}

}  // namespace lenslet
