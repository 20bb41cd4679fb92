// Under which conditions a device measured: clocks, power and temperature, which decide how fast it is at that moment.
#pragma once

#include <cmath>
#include <string>

#include "apps/common/fields.h"
#include "framework/device.h"

namespace lenslet {

/// What the system tells at one moment: of a GPU through NVML, of the CPU from Linux's files. NaN or empty where it
/// tells nothing; `reason` then says why.
struct Conditions {
  Device device;
  double clock_mhz = NAN;         // of the multiprocessors; of the CPU the mean of its cores
  double memory_clock_mhz = NAN;  // of a GPU
  double power_w = NAN;           // of a GPU
  double temperature_c = NAN;
  std::string governor;      // of the CPU's frequency: "performance"
  std::string throttled_by;  // what holds a GPU's clock down: "power cap", "temperature"
  std::string reason;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("device", self.device)("clock_mhz", self.clock_mhz)("memory_clock_mhz", self.memory_clock_mhz);
    v("power_w", self.power_w)("temperature_c", self.temperature_c)("governor", self.governor);
    v("throttled_by", self.throttled_by)("reason", self.reason);
  }
};

/// Never throws; costs about a millisecond, on a GPU the first call some ten more.
Conditions read_conditions(Device device);

}  // namespace lenslet
