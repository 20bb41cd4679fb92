#include "framework/device/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

#include "framework/base/choice_trace.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/base/parse_number.h"
#include "framework/base/text.h"
#include "framework/device/device_list.h"
#include "framework/device/device_memory.h"
#include "framework/device/launched_rank.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"

namespace lenslet {

namespace {

constexpr std::string_view kCpu = "cpu", kCuda = "cuda:";

// The number of GPUs. Throws UnavailableError if there is none.
int check_any_gpu(std::string_view device, const CudaStatus& status) {
  if (!status.devices.empty()) return static_cast<int>(status.devices.size());
  throw UnavailableError(concat("device ", device, " is unavailable: ", status.reason, "; use device cpu"));
}

Device check_cuda_device(int ordinal, const CudaStatus& status) {
  const Device device = Device::cuda(ordinal);
  const int count = check_any_gpu(device.to_string(), status);
  if (ordinal >= count) {
    throw UnavailableError(concat("device ", device.to_string(),
                                  " does not exist: this machine has cuda:0 to cuda:", count - 1));
  }
  const CudaDeviceInfo& info = status.devices[static_cast<size_t>(ordinal)];
  if (!info.has_code) {
    throw UnavailableError(concat("device ", device.to_string(), " (", info.name, ", compute capability ",
                                  capability_text(info.compute_capability),
                                  ") is unsupported: this build has code for ", status.architectures,
                                  "; rebuild with its CMAKE_CUDA_ARCHITECTURES"));
  }
  return device;
}

}  // namespace

const char* to_string(DeviceKind kind) noexcept { return kind == DeviceKind::kCpu ? "cpu" : "cuda"; }

std::string Device::to_string() const { return is_cuda() ? concat("cuda:", ordinal) : "cpu"; }

const CudaStatus& cuda_status() {
  static const CudaStatus status = runtime::query_status();
  return status;
}

namespace {

DeviceChoices device_of_rank(const CudaStatus& status) {
  std::string fault;
  const std::optional<LaunchedRank> rank = launched_rank(&fault);
  if (!rank)
    throw UsageError(concat("device cuda:rank is for processes that mpirun starts: ", fault,
                            "; use device cuda:N, or start with mpirun"));
  const int gpus = check_any_gpu("cuda:rank", status);
  return {{check_cuda_device(gpu_of_rank(rank->local, gpus), status)},
          concat("rank ", rank->local, " of this machine, ", counted(gpus, "GPU"))};
}

DeviceChoices all_gpus(const CudaStatus& status) {
  const int gpus = check_any_gpu("cuda:all", status);
  std::vector<Device> usable;
  for (int i = 0; i < gpus; ++i) {
    if (status.devices[static_cast<size_t>(i)].has_code) usable.push_back(Device::cuda(i));
  }
  if (usable.empty()) check_cuda_device(0, status);  // throws
  std::string reason = concat(usable.size(), " of ", counted(gpus, "GPU"));
  return {std::move(usable), std::move(reason)};
}

// The numbers of "0" or "0,2"; empty if the text is another one.
std::vector<int> parse_ordinals(std::string_view text) {
  std::vector<int> ordinals;
  for (const std::string& digits : split(text, ",")) {
    const std::optional<int> ordinal = parse_number(digits, 0);
    if (!ordinal || digits[0] == '-') return {};
    ordinals.push_back(*ordinal);
  }
  return ordinals;
}

DeviceChoices named_gpus(std::string_view text, const std::vector<int>& ordinals, const CudaStatus& status) {
  for (size_t i = 0; i < ordinals.size(); ++i) {
    if (std::find(ordinals.begin(), ordinals.begin() + static_cast<std::ptrdiff_t>(i), ordinals[i]) !=
        ordinals.begin() + static_cast<std::ptrdiff_t>(i))
      throw UsageError(concat("device ", printable_excerpt(std::string(text)), " names cuda:", ordinals[i],
                              " twice; name each GPU once"));
  }
  DeviceChoices choice{{}, "requested"};
  for (const int ordinal : ordinals) choice.devices.push_back(check_cuda_device(ordinal, status));
  return choice;
}

DeviceChoices find_devices(std::string_view text, const CudaStatus& status) {
  if (text == kCpu) return {{Device::cpu()}, "requested"};
  if (text == "cuda") return {{check_cuda_device(0, status)}, "requested"};
  if (text == "cuda:rank") return device_of_rank(status);
  if (text == "cuda:all") return all_gpus(status);
  if (text.substr(0, kCuda.size()) == kCuda) {
    const std::vector<int> ordinals = parse_ordinals(text.substr(kCuda.size()));
    if (!ordinals.empty()) return named_gpus(text, ordinals, status);
  }
  if (text != "auto") {
    throw UsageError(
        concat("device must be auto, cpu, cuda or cuda:N with N >= 0, several such as cuda:0,2, "
               "cuda:all or cuda:rank, found '",
               printable_excerpt(std::string(text)), "'"));
  }
  for (size_t i = 0; i < status.devices.size(); ++i) {
    if (status.devices[i].has_code) {
      return {{Device::cuda(static_cast<int>(i))}, concat("first usable GPU, ", status.devices[i].name)};
    }
  }
  return {{Device::cpu()}, status.reason};
}

}  // namespace

DeviceChoices choose_devices(std::string_view text, const CudaStatus& status) {
  DeviceChoices choice = find_devices(text, status);
  trace_choice("device", device_list(choice.devices), " for '", text, "': ", choice.reason);
  return choice;
}

DeviceChoices choose_devices(std::string_view text) {
  static const CudaStatus no_gpus;
  return choose_devices(text, text == kCpu ? no_gpus : cuda_status());
}

DeviceChoice choose_device(std::string_view text) { return only_device(text, choose_devices(text)); }

DeviceChoice only_device(std::string_view text, DeviceChoices choice) {
  if (choice.devices.size() > 1)
    throw UsageError(concat("device ", printable_excerpt(std::string(text)), " is several GPUs, ",
                            device_list(choice.devices), ", and this computes on one: name one of them"));
  return {choice.devices.front(), std::move(choice.reason)};
}

std::string device_list(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& device : devices) {
    if (text.empty()) {
      text = device.to_string();
    } else {
      text += concat(",", device.ordinal);
    }
  }
  return text;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

namespace {

size_t free_host_bytes() {
  // Memory available without swapping. The number of free pages would omit the file cache.
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  size_t kibibytes = 0;
  while (meminfo >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    meminfo.ignore(64, '\n');
  }
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : SIZE_MAX;
}

}  // namespace

size_t free_memory_bytes(Device device) {
  if (!device.is_cuda()) return device_memory::within_limit(device, free_host_bytes());
  DeviceGuard guard(device);
  return device_memory::within_limit(device, runtime::free_memory());
}

}  // namespace lenslet
