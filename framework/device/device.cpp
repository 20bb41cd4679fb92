#include "framework/device/device.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <fstream>

#include "framework/base/choice_trace.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/device_memory.h"
#include "framework/device/launched_rank.h"
#include "framework/device/runtime.h"
#include "framework/device/stream.h"

namespace lenslet {

namespace {

bool parse_ordinal(std::string_view digits, int& ordinal) {
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, ordinal);
  return error == std::errc() && stop == end && ordinal >= 0 && !digits.empty() && digits[0] != '-';
}

// Their number. Throws UnavailableError if there is none.
int demand_cards(std::string_view device) {
  const CudaStatus& status = cuda_status();
  if (!status.devices.empty()) return static_cast<int>(status.devices.size());
  throw UnavailableError(concat("device ", device, " is unavailable: ", status.reason, "; use device cpu"));
}

Device require_cuda(int ordinal) {
  const CudaStatus& status = cuda_status();
  const Device device = Device::cuda(ordinal);
  const int count = demand_cards(device.to_string());
  if (ordinal >= count) {
    throw UnavailableError(concat("device ", device.to_string(),
                                  " does not exist: this machine has cuda:0 to cuda:", count - 1));
  }
  const CudaDeviceInfo& info = status.devices[static_cast<size_t>(ordinal)];
  if (!info.has_code) {
    throw UnavailableError(concat("device ", device.to_string(), " (", info.name, ", compute capability ",
                                  info.compute_capability, ") is unsupported: this build has code for ",
                                  status.architectures, "; rebuild with its CMAKE_CUDA_ARCHITECTURES"));
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

DeviceChoice device_of_rank() {
  const std::optional<LaunchedRank> rank = launched_rank();
  if (!rank)
    throw UsageError(
        "device cuda:rank is for processes that mpirun starts: OMPI_COMM_WORLD_LOCAL_RANK is not set; use "
        "device cuda:N, or start with mpirun");
  const int cards = demand_cards("cuda:rank");
  return {require_cuda(card_of_rank(rank->local, cards)),
          concat("rank ", rank->local, " of this machine, ", cards, cards == 1 ? " card" : " cards")};
}

DeviceChoice find_device(std::string_view text) {
  if (text == "cpu") return {Device::cpu(), "requested"};
  if (text == "cuda") return {require_cuda(0), "requested"};
  int ordinal = 0;
  if (text.substr(0, 5) == "cuda:" && parse_ordinal(text.substr(5), ordinal)) {
    return {require_cuda(ordinal), "requested"};
  }
  if (text == "cuda:rank") return device_of_rank();
  if (text != "auto") {
    throw UsageError(concat("device must be auto, cpu, cuda or cuda:N with N >= 0, or cuda:rank, found '",
                            printable_excerpt(std::string(text)), "'"));
  }
  const CudaStatus& status = cuda_status();
  for (size_t i = 0; i < status.devices.size(); ++i) {
    if (status.devices[i].has_code) {
      return {Device::cuda(static_cast<int>(i)), concat("first usable GPU, ", status.devices[i].name)};
    }
  }
  return {Device::cpu(), status.reason};
}

}  // namespace

DeviceChoice choose_device(std::string_view text) {
  DeviceChoice choice = find_device(text);
  trace_choice("device", choice.device.to_string(), " for '", text, "': ", choice.reason);
  return choice;
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
