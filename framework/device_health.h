// Whether this process can still use its GPUs.
//
// After a fault inside a kernel (a wild access, a trap) every later call of the CUDA runtime fails, in this process, for
// good; a kernel that never ends is no better. The first such error is thrown and remembered: from then on nothing calls the runtime
// any more, destructors included, and what is asked of a GPU throws DeviceError with that first reason. The CPU
// serves on. A refused launch or too little memory is no such error.
#pragma once

#include <string>

namespace lenslet {

/// Whether a device was lost; it stays so for the life of the process.
bool device_lost() noexcept;
/// Why; empty while nothing is lost.
std::string device_lost_reason();
/// Throws DeviceError where the device is lost.
void throw_if_device_lost();
/// Called once, by the thread that finds the device lost; for a program that wants to make sure of its own end.
void on_device_lost(void (*handler)()) noexcept;

/// How long a wait for the device may last: LENSLET_DEVICE_TIMEOUT in seconds, 120 where it is not set; infinity for 0. Throws
/// UsageError for another text.
double device_timeout_s();

/// Whether to wait after every layer of every pass, so that an error names the layer at fault: LENSLET_CHECK_LAYERS=1.
/// Throws UsageError for any text but 0 or 1.
bool checks_layers();

/// Internal: remembers the first reason.
void mark_device_lost(const std::string& reason);
/// Internal: the device is lost because it did not finish within device_timeout_s().
[[noreturn]] void throw_device_timeout();

}  // namespace lenslet
