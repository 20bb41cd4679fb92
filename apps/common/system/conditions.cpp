#include "apps/common/system/conditions.h"

#include <dlfcn.h>

#include <fstream>

#include "apps/common/output/text.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/runtime.h"
#include "framework/gpu_side.h"

namespace lenslet {
namespace {

/// Current mean frequency of the cores in MHz, from cpufreq, else from /proc/cpuinfo; NaN if neither has it.
double cpu_clock_mhz() {
  double sum = 0;
  int cores = 0;
  for (;; ++cores) {
    std::ifstream file(concat("/sys/devices/system/cpu/cpu", cores, "/cpufreq/scaling_cur_freq"));
    double khz = 0;
    if (!(file >> khz)) break;
    sum += khz / 1e3;
  }
  if (cores > 0) return sum / cores;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.rfind("cpu MHz", 0) != 0 || colon == std::string::npos) continue;
    sum += std::atof(line.c_str() + colon + 1);
    ++cores;
  }
  return cores > 0 ? sum / cores : NAN;
}

/// Temperature of the processor package, if a thermal zone has that name.
double cpu_temperature_c() {
  for (int zone = 0;; ++zone) {
    const std::string folder = concat("/sys/class/thermal/thermal_zone", zone, "/");
    const std::string type = first_line(folder + "type");
    if (type.empty()) return NAN;
    if (type != "x86_pkg_temp" && type != "cpu-thermal") continue;
    double thousandths = 0;
    if (std::ifstream(folder + "temp") >> thousandths) return thousandths / 1e3;
  }
}

void read_cpu(Conditions& conditions) {
  conditions.clock_mhz = cpu_clock_mhz();
  conditions.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  conditions.temperature_c = cpu_temperature_c();
  if (std::isnan(conditions.clock_mhz))
    add_clause(conditions.reason, "neither cpufreq nor /proc/cpuinfo has the clock");
  if (conditions.governor.empty()) add_clause(conditions.reason, "no cpufreq, so no governor");
  if (std::isnan(conditions.temperature_c))
    add_clause(conditions.reason, "no thermal zone of the processor is readable");
  add_clause(conditions.reason, "the power of a CPU is not measured");
}

#ifdef LENSLET_HAS_CUDA

/// NVIDIA's management library (NVML), which comes with the driver: opened on first use, never linked. The signatures
/// and numbers are those of nvml.h, whose interface is stable.
class Nvml {
 public:
  static const Nvml& instance() {
    static const Nvml nvml;
    return nvml;
  }

  void read(const std::string& pci_bus, Conditions& conditions) const {
    if (!reason_.empty()) return add_clause(conditions.reason, reason_);
    Handle device = nullptr;
    if (by_pci_bus_(pci_bus.c_str(), &device) != kSuccess)
      return add_clause(conditions.reason, concat("NVML finds no GPU at ", pci_bus));
    const auto value = [&](const char* what, double scale, auto&& query) {
      unsigned found = 0;
      if (query(&found) == kSuccess) return static_cast<double>(found) * scale;
      add_clause(conditions.reason, concat("NVML does not report the ", what));
      return static_cast<double>(NAN);
    };
    conditions.clock_mhz = value("clock", 1, [&](unsigned* mhz) { return clock_(device, kSmClock, mhz); });
    conditions.memory_clock_mhz =
        value("memory's clock", 1, [&](unsigned* mhz) { return clock_(device, kMemoryClock, mhz); });
    conditions.power_w = value("power", 1e-3, [&](unsigned* mw) { return power_(device, mw); });
    conditions.temperature_c =
        value("temperature", 1, [&](unsigned* c) { return temperature_(device, 0, c); });
    // With room for none NVML only counts: "insufficient size", or success if there are none.
    unsigned processes = 0;
    const int counted =
        processes_ != nullptr ? processes_(device, &processes, nullptr) : kInsufficientSize + 1;
    if (counted == kSuccess || counted == kInsufficientSize) {
      conditions.processes = processes;
    } else {
      add_clause(conditions.reason, "NVML does not report the processes");
    }
    unsigned long long reasons = 0;
    if (throttle_(device, &reasons) != kSuccess)
      return add_clause(conditions.reason, "NVML does not report what throttles");
    for (const auto& [bit, name] : kThrottles) {
      if ((reasons & bit) != 0) add_clause(conditions.throttled_by, name);
    }
  }

 private:
  using Handle = void*;
  static constexpr int kSuccess = 0, kInsufficientSize = 7, kSmClock = 1, kMemoryClock = 2;
  static constexpr std::pair<unsigned long long, const char*> kThrottles[] = {
      {0x04, "power cap"},
      {0x08, "hardware slowdown"},
      {0x20, "temperature"},
      {0x40, "temperature, by hardware"},
      {0x80, "external power brake"}};

  Nvml() {
    void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      reason_ = "libnvidia-ml.so.1 cannot be opened";
      return;
    }
    int (*init)() = nullptr;
    const bool found = find(library, "nvmlInit_v2", init) &&
                       find(library, "nvmlDeviceGetHandleByPciBusId_v2", by_pci_bus_) &&
                       find(library, "nvmlDeviceGetClockInfo", clock_) &&
                       find(library, "nvmlDeviceGetPowerUsage", power_) &&
                       find(library, "nvmlDeviceGetTemperature", temperature_) &&
                       find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle_);
    find(library, "nvmlDeviceGetComputeRunningProcesses_v3", processes_);  // not of drivers before 510
    if (!found) {
      reason_ = "libnvidia-ml.so.1 lacks a required function";
    } else if (const int error = init(); error != kSuccess) {
      reason_ = concat("nvmlInit fails with ", error);
    }
  }
  template <typename Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }

  std::string reason_;  // why NVML is unavailable
  int (*by_pci_bus_)(const char*, Handle*) = nullptr;
  int (*clock_)(Handle, int, unsigned*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
  int (*throttle_)(Handle, unsigned long long*) = nullptr;
  int (*processes_)(Handle, unsigned*, void*) = nullptr;
};

#endif

}  // namespace

Conditions read_conditions(Device device) {
  Conditions conditions;
  conditions.device = device;
  if (!device.is_cuda()) {
    read_cpu(conditions);
    return conditions;
  }
#ifdef LENSLET_HAS_CUDA
  Nvml::instance().read(runtime::pci_address(device.ordinal), conditions);
#endif
  return conditions;
}

}  // namespace lenslet
