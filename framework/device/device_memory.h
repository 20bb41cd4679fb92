// Device memory of this process: the limit and the bytes in use.
//
// Every Buffer is counted, also on the CPU. Page-locked host memory is not counted. The limit per device is
// LENSLET_DEVICE_MEMORY_LIMIT (64M, 2G) or set_device_memory_limit(). It serves shared devices and tests of small ones.
#pragma once

#include <cstddef>

#include "framework/base/error.h"
#include "framework/device/device.h"

namespace lenslet {

/// A request for more memory than a device has free.
class OutOfDeviceMemory : public MemoryError {
 public:
  /// `needed_bytes` and `free_bytes` let the caller find a smaller request.
  OutOfDeviceMemory(const std::string& message, size_t needed_bytes, size_t free_bytes)
      : MemoryError(message), needed_bytes_(needed_bytes), free_bytes_(free_bytes) {}
  /// Bytes of the refused request.
  size_t needed_bytes() const noexcept { return needed_bytes_; }
  /// Free bytes at that time.
  size_t free_bytes() const noexcept { return free_bytes_; }

 private:
  size_t needed_bytes_, free_bytes_;
};

/// Sets the limit of each device from now on; SIZE_MAX: no limit. Memory in use stays allocated and counts.
void set_device_memory_limit(size_t bytes) noexcept;
/// The limit in bytes. Throws UsageError if LENSLET_DEVICE_MEMORY_LIMIT is not a byte count.
size_t device_memory_limit();
/// Bytes that this process's Buffers hold on the device.
size_t device_memory_taken(Device device) noexcept;

namespace device_memory {
/// Internal, for Buffer: counts `bytes`. Throws OutOfDeviceMemory if the limit would be exceeded.
void take(Device device, size_t bytes);
/// Undoes take().
void give_back(Device device, size_t bytes) noexcept;
/// `free_bytes` of the device, reduced to what the limit allows.
size_t within_limit(Device device, size_t free_bytes);
}  // namespace device_memory

}  // namespace lenslet
