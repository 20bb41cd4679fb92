#include "framework/device/device_health.h"

#include <atomic>
#include <cmath>
#include <mutex>

#include "framework/base/error.h"
#include "framework/base/settings.h"

namespace lenslet {

namespace {

constexpr int kDefaultTimeoutS = 120;  // the longest launch of the studies takes seconds
constexpr int kMaxTimeoutS = 1000000;

std::atomic<bool> lost{false};
std::atomic<void (*)()> when_lost{nullptr};

struct Reason {
  std::mutex mutex;
  std::string text;
};
Reason& reason() {
  static Reason the_reason;
  return the_reason;
}

double timeout_of_environment() {
  const int seconds = number_setting("LENSLET_DEVICE_TIMEOUT", "seconds (0: no limit)", 0, kMaxTimeoutS)
                          .value_or(kDefaultTimeoutS);
  return seconds == 0 ? INFINITY : seconds;
}

}  // namespace

bool device_lost() noexcept { return lost.load(std::memory_order_acquire); }

std::string device_lost_reason() {
  std::lock_guard<std::mutex> lock(reason().mutex);
  return reason().text;
}

void throw_if_device_lost() {
  if (device_lost()) throw DeviceError("this process cannot use a GPU any more: " + device_lost_reason());
}

void on_device_lost(void (*handler)()) noexcept { when_lost = handler; }

void mark_device_lost(const std::string& text) {
  {
    std::lock_guard<std::mutex> lock(reason().mutex);
    if (lost.exchange(true, std::memory_order_acq_rel)) return;
    reason().text = text;
  }
  if (void (*const handler)() = when_lost.load()) handler();
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
  const std::string message =
      concat("the GPU did not finish within ", device_timeout_s(),
             " s: a kernel hangs, or the work is larger than that; LENSLET_DEVICE_TIMEOUT=SECONDS waits "
             "longer, 0 for ever");
  mark_device_lost(message);
  throw DeviceError(message);
}

}  // namespace lenslet
