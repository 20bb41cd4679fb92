// The conditions of a measurement: clocks, power and temperature of the device, which decide its speed at that moment.
#pragma once

#include <cmath>
#include <string>

#include "apps/common/fields/fields.h"
#include "framework/device/device.h"

namespace lenslet {

/// Values at one moment: of a GPU from NVML, of the CPU from Linux's files. Unavailable values are NaN or empty, and
/// `reason` explains why.
struct Conditions {
  Device device;
  double clock_mhz = NAN;         // of a GPU's multiprocessors; for the CPU the mean of its cores
  double memory_clock_mhz = NAN;  // GPU only
  double power_w = NAN;           // GPU only
  double temperature_c = NAN;
  double processes = NAN;    // GPU only: those that compute on it, this one included
  std::string governor;      // CPU frequency governor: "performance"
  std::string throttled_by;  // what limits a GPU's clock: "power cap", "temperature"
  std::string reason;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("device", self.device)("clock_mhz", self.clock_mhz)("memory_clock_mhz", self.memory_clock_mhz);
    v("power_w", self.power_w)("temperature_c", self.temperature_c)("governor", self.governor);
    v("processes", self.processes);
    v("throttled_by", self.throttled_by)("reason", self.reason);
  }
};

/// Never throws. Takes about a millisecond, the first call for a GPU about ten more.
Conditions read_conditions(Device device);

}  // namespace lenslet
