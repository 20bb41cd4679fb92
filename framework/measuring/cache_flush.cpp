#include "framework/measuring/cache_flush.h"

#include "framework/measuring/cpu_caches.h"

namespace lenslet {
namespace {

// Taken for the L3 if the system does not describe it, as in some virtual machines: above that of most processors. A
// smaller value leaves "cold" data in the cache, a larger one makes a flush longer. Chosen by hand.
constexpr size_t kCpuCacheFallbackBytes = 64u << 20;

size_t flush_bytes(Device device) {
  if (device.is_cuda()) return 2 * cuda_status().devices[static_cast<size_t>(device.ordinal)].l2_bytes;
  const CpuCaches l3 = cpu_caches(3);
  return 2 * (l3.count > 0 ? l3.bytes * static_cast<size_t>(l3.count) : kCpuCacheFallbackBytes);
}

}  // namespace

CacheFlush::CacheFlush(Device device) : buffer_(device, flush_bytes(device)) {}

void CacheFlush::enqueue(Stream& stream) {
  // Another value each time, so that every write changes memory.
  byte_ = (byte_ + 1) & 0xff;
  fill_bytes(buffer_.data(), buffer_.device(), byte_, buffer_.bytes(), stream);
}

}  // namespace lenslet
