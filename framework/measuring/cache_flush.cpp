#include "framework/measuring/cache_flush.h"

#include <unistd.h>

namespace lenslet {
namespace {

constexpr size_t kCpuCacheFallbackBytes = 64u << 20;

size_t flush_bytes(Device device) {
  if (device.is_cuda()) return 2 * cuda_status().devices[static_cast<size_t>(device.ordinal)].l2_bytes;
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return 2 * (l3 > 0 ? static_cast<size_t>(l3) : kCpuCacheFallbackBytes);
}

}  // namespace

CacheFlush::CacheFlush(Device device) : buffer_(device, flush_bytes(device)) {}

void CacheFlush::enqueue(Stream& stream) {
  // Another value each time, so that every write changes memory.
  byte_ = (byte_ + 1) & 0xff;
  fill_bytes(buffer_.data(), buffer_.device(), byte_, buffer_.bytes(), stream);
}

}  // namespace lenslet
