// Lost devices: whether this process can still use its GPUs.
//
// After a fault inside a kernel (invalid access, trap) every later call of the CUDA runtime fails in this process. A
// kernel that never ends has the same effect. The first such error is thrown and stored. From then on no code calls the
// runtime, destructors included, and every use of a GPU throws DeviceError with that first reason. The CPU remains
// usable. A refused launch or a lack of memory does not lose the device.
#pragma once

#include <string>

namespace lenslet {

/// True once a device is lost, until the process ends.
bool device_lost() noexcept;
/// The first error; empty if no device is lost.
std::string device_lost_reason();
/// Throws DeviceError with the first reason if a device is lost.
void throw_if_device_lost();
/// Sets a handler that the thread which detects the loss calls once. A program uses it to force the process to exit.
void on_device_lost(void (*handler)()) noexcept;

/// Longest wait for the device in seconds: LENSLET_DEVICE_TIMEOUT, default 120; infinity for 0. Throws UsageError if
/// the variable is not a number.
double device_timeout_s();

/// Whether every pass waits after every layer, so that an error names its layer: LENSLET_CHECK_LAYERS=1. Throws
/// UsageError if the variable is not 0 or 1.
bool checks_layers();

/// Internal: stores the reason of the first loss.
void mark_device_lost(const std::string& reason);
/// Internal: marks the device lost because it did not finish within device_timeout_s(), and throws DeviceError.
[[noreturn]] void throw_device_timeout();

}  // namespace lenslet
