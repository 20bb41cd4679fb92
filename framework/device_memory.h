// What this process may take of a device's memory, and what it has taken.
//
// Every Buffer is counted, on the CPU too; page-locked host memory is not. The limit is LENSLET_DEVICE_MEMORY_LIMIT (64M,
// 2G: bytes, for each device) or what set_device_memory_limit() says: for a device that is shared, and for
// finding out what a smaller one would answer.
#pragma once

#include <cstddef>

#include "framework/device.h"
#include "framework/error.h"

namespace lenslet {

/// Memory that a device does not have: the bytes asked for and the bytes that were free.
class OutOfDeviceMemory : public MemoryError {
 public:
  /// `message` for people; the figures for who looks for a smaller request.
  OutOfDeviceMemory(const std::string& message, size_t needed_bytes, size_t free_bytes)
      : MemoryError(message), needed_bytes_(needed_bytes), free_bytes_(free_bytes) {}
  /// What the refused request asked for.
  size_t needed_bytes() const noexcept { return needed_bytes_; }
  /// What was left then.
  size_t free_bytes() const noexcept { return free_bytes_; }

 private:
  size_t needed_bytes_, free_bytes_;
};

/// From now on, for each device; SIZE_MAX: what the device has. What is already taken stays, and counts.
void set_device_memory_limit(size_t bytes) noexcept;
/// Throws UsageError where LENSLET_DEVICE_MEMORY_LIMIT is no count of bytes.
size_t device_memory_limit();
/// Bytes that this process's Buffers hold on the device.
size_t device_memory_taken(Device device) noexcept;

namespace device_memory {
/// Internal, for Buffer. Throws OutOfDeviceMemory where the limit is passed.
void take(Device device, size_t bytes);
/// Undoes take().
void give_back(Device device, size_t bytes) noexcept;
/// What the limit leaves of `free_bytes`, which the device has.
size_t within_limit(Device device, size_t free_bytes);
}  // namespace device_memory

}  // namespace lenslet
