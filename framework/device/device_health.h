// Lost devices: which GPUs this process can still use.
//
// After a fault inside a kernel (invalid access, trap) every later call of the CUDA runtime for that GPU fails in this
// process. A kernel that never ends has the same effect. The first such error is thrown and stored. From then on no
// code calls the runtime for that GPU, destructors included, and every use of it throws DeviceError with that first
// reason. The CPU remains usable, after a hang other GPUs too. A refused launch or a lack of memory does not lose the
// device.
#pragma once

#include <string>

#include "framework/device/device.h"

namespace lenslet {

/// True once a GPU is lost, until the process ends.
bool device_lost() noexcept;
/// True once that GPU is lost.
bool device_lost(Device device) noexcept;
/// The first error of any GPU; empty if none is lost.
std::string device_lost_reason();
/// Throws DeviceError with the first reason if the current GPU of this thread is lost.
void throw_if_device_lost();
/// Throws DeviceError with the first reason if that GPU is lost.
void throw_if_device_lost(Device device);
/// Sets a handler that the thread which detects a loss calls; once. A program uses it to force the process to exit.
void on_device_lost(void (*handler)()) noexcept;
/// Calls the handler as if this thread had detected a loss; for the owner of a SparesProcess.
void report_device_lost() noexcept;

/// While it exists, a loss that its thread detects does not call the handler: other devices take over the work.
class SparesProcess {
 public:
  SparesProcess() noexcept;
  ~SparesProcess();
  SparesProcess(const SparesProcess&) = delete;
  SparesProcess& operator=(const SparesProcess&) = delete;

 private:
  bool before_;
};

/// Longest wait for the device in seconds: LENSLET_DEVICE_TIMEOUT, default 120; infinity for 0. Throws UsageError if
/// the variable is not a number.
double device_timeout_s();

/// Whether every pass waits after every layer, so that an error names its layer: LENSLET_CHECK_LAYERS=1. Throws
/// UsageError if the variable is not 0 or 1.
bool checks_layers();

/// Internal: the current GPU of this thread is lost; stores the first reason.
void mark_device_lost(const std::string& reason);
/// Internal: marks the current GPU lost because it did not finish within device_timeout_s(), and throws DeviceError.
[[noreturn]] void throw_device_timeout();

}  // namespace lenslet
