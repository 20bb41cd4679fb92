#include "framework/device/device_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "framework/base/byte_count.h"

namespace lenslet {

namespace {

constexpr const char* kVariable = "LENSLET_DEVICE_MEMORY_LIMIT";
constexpr size_t kDevices = 65;  // the CPU, then GPUs by ordinal; GPUs beyond these share the last entry

std::atomic<size_t>& taken(Device device) noexcept {
  static std::array<std::atomic<size_t>, kDevices> counts{};
  return counts[device.is_cuda() ? std::min<size_t>(1 + static_cast<size_t>(device.ordinal), kDevices - 1)
                                 : 0];
}

size_t limit_of_environment() {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return SIZE_MAX;
  if (const std::optional<size_t> bytes = parse_byte_count(text)) return *bytes;
  throw UsageError(concat(kVariable, " expects bytes such as 67108864, 64M or 2G, found '", text, "'"));
}

// 0: not set yet.
std::atomic<size_t> chosen_limit{0};

}  // namespace

void set_device_memory_limit(size_t bytes) noexcept { chosen_limit = std::max<size_t>(bytes, 1); }

size_t device_memory_limit() {
  size_t limit = chosen_limit;
  if (limit != 0) return limit;
  size_t unset = 0;
  limit = limit_of_environment();
  return chosen_limit.compare_exchange_strong(unset, limit) ? limit : unset;
}

size_t device_memory_taken(Device device) noexcept { return taken(device); }

namespace device_memory {

void take(Device device, size_t bytes) {
  const size_t limit = device_memory_limit();
  std::atomic<size_t>& count = taken(device);
  size_t before = count;
  do {
    const size_t left = limit > before ? limit - before : 0;
    if (bytes > left) {
      throw OutOfDeviceMemory(
          concat("out of device memory: ", bytes, " bytes needed on ", device.to_string(), ", ", left, " of ",
                 limit, " free within the limit; use a smaller batch or problem, or raise ", kVariable),
          bytes, left);
    }
  } while (!count.compare_exchange_weak(before, before + bytes));
}

void give_back(Device device, size_t bytes) noexcept { taken(device) -= bytes; }

size_t within_limit(Device device, size_t free_bytes) {
  const size_t limit = device_memory_limit(), used = taken(device);
  return std::min(free_bytes, limit > used ? limit - used : 0);
}

}  // namespace device_memory
}  // namespace lenslet
