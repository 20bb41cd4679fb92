#include "framework/device/device_health.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/settings.h"
#include "framework/device/runtime.h"

namespace lenslet {

namespace {

constexpr int kDefaultTimeoutS = 120;  // the longest launch of the studies takes seconds
constexpr int kMaxTimeoutS = 1000000;

constexpr size_t kDevices = 64;  // by ordinal; those beyond share the last entry

std::atomic<bool> any_lost{false};
std::atomic<bool> lost[kDevices] = {};
std::atomic<void (*)()> when_lost{nullptr};
thread_local bool spares_process = false;

size_t entry_of(Device device) { return std::min(static_cast<size_t>(device.ordinal), kDevices - 1); }

struct Reasons {
  std::mutex mutex;
  std::string first, of[kDevices];
};
Reasons& reasons() {
  static Reasons all;
  return all;
}

double timeout_of_environment() {
  const int seconds = number_setting("LENSLET_DEVICE_TIMEOUT", "seconds (0: no limit)", 0, kMaxTimeoutS)
                          .value_or(kDefaultTimeoutS);
  return seconds == 0 ? INFINITY : seconds;
}

}  // namespace

bool device_lost() noexcept { return any_lost.load(std::memory_order_acquire); }

bool device_lost(Device device) noexcept {
  return device.is_cuda() && device_lost() && lost[entry_of(device)].load(std::memory_order_acquire);
}

std::string device_lost_reason() {
  const std::lock_guard<std::mutex> lock(reasons().mutex);
  return reasons().first;
}

void throw_if_device_lost() {
  // Queries the current device only after a loss.
  if (device_lost()) throw_if_device_lost(Device::cuda(runtime::current_device()));
}

void throw_if_device_lost(Device device) {
  if (!device_lost(device)) return;
  const std::lock_guard<std::mutex> lock(reasons().mutex);
  throw DeviceError(
      concat("this process cannot use ", device.to_string(), " any more: ", reasons().of[entry_of(device)]));
}

void on_device_lost(void (*handler)()) noexcept { when_lost = handler; }

void report_device_lost() noexcept {
  if (void (*const handler)() = when_lost.exchange(nullptr)) handler();
}

SparesProcess::SparesProcess() noexcept : before_(std::exchange(spares_process, true)) {}
SparesProcess::~SparesProcess() { spares_process = before_; }

void mark_device_lost(const std::string& text) {
  const Device current = Device::cuda(runtime::current_device());
  {
    Reasons& all = reasons();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (lost[entry_of(current)]) return;
    all.of[entry_of(current)] = text;
    if (!any_lost) all.first = text;
    lost[entry_of(current)].store(true, std::memory_order_release);
    any_lost.store(true, std::memory_order_release);
  }
  if (!spares_process) report_device_lost();
}

double device_timeout_s() {
  static const double seconds = timeout_of_environment();
  return seconds;
}

bool checks_layers() {
  static const bool checks = switch_setting("LENSLET_CHECK_LAYERS");
  return checks;
}

void throw_device_timeout() {
  const std::string message = concat(
      "the GPU did not finish within ", device_timeout_s(),
      " s: a kernel hangs, or the work takes longer; set LENSLET_DEVICE_TIMEOUT=SECONDS (0: no limit)");
  mark_device_lost(message);
  throw DeviceError(message);
}

}  // namespace lenslet
