// Devices: names, selection and description. No CUDA type appears here; a build without CUDA has the same API.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet {

/// The two kinds of device. A backend is written for one of them.
enum class DeviceKind { kCpu, kCuda };

/// Every kind of device.
inline constexpr DeviceKind kDeviceKinds[] = {DeviceKind::kCpu, DeviceKind::kCuda};

/// "cpu" or "cuda".
const char* to_string(DeviceKind kind) noexcept;

/// One device: the CPU, or a GPU by its ordinal.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;  // CPU or GPU
  int ordinal = 0;                     // CUDA ordinal; 0 for the CPU

  /// True for a GPU.
  bool is_cuda() const noexcept { return kind == DeviceKind::kCuda; }
  /// The CPU.
  static Device cpu() noexcept { return {}; }
  /// The GPU with that CUDA ordinal. Does not check that it exists.
  static Device cuda(int ordinal = 0) noexcept { return {DeviceKind::kCuda, ordinal}; }
  /// "cpu" or "cuda:0".
  std::string to_string() const;
  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.kind == b.kind && a.ordinal == b.ordinal;
  }
  friend bool operator!=(const Device& a, const Device& b) noexcept { return !(a == b); }
};

/// "9.0" for 90.
inline std::string capability_text(int compute_capability) {
  return std::to_string(compute_capability / 10) + "." + std::to_string(compute_capability % 10);
}
/// "13.0" for 13000, the form of the CUDA runtime.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Properties of one GPU, from the CUDA runtime.
struct CudaDeviceInfo {
  std::string name;                         // "NVIDIA H200"
  int compute_capability = 0;               // 90 for 9.0
  int multiprocessors = 0;                  // their number
  size_t memory_bytes = 0;                  // total, used or free
  size_t l2_bytes = 0;                      // last-level cache
  size_t shared_bytes_per_block_optin = 0;  // most dynamic shared memory that a kernel may request
  bool has_code = false;                    // this build contains machine code or PTX for it
};

/// Whether CUDA is usable, and the reason if it is not.
struct CudaStatus {
  bool built = false;                   // this build has the GPU side
  bool usable = false;                  // at least one device is usable
  std::string reason;                   // why it is not usable: "no NVIDIA driver is loaded", …
  int driver_version = 0;               // 13000 for 13.0; 0 = no driver
  int runtime_version = 0;              // of the linked CUDA runtime; 0 in a build without CUDA
  std::string architectures;            // compiled in: "90-real,90-virtual"
  std::vector<CudaDeviceInfo> devices;  // by ordinal
};

/// Queries the CUDA runtime on the first call and caches the answer for the process. Never throws.
const CudaStatus& cuda_status();

/// The result of choose_device().
struct DeviceChoice {
  Device device;       // the chosen one
  std::string reason;  // "requested", "first usable GPU, NAME", "rank 1 of this machine, 2 GPUs"
};

/// Parses `auto`, `cpu`, `cuda`, `cuda:N` or `cuda:rank`. `auto` takes a usable GPU, else the CPU. `cuda:rank` takes
/// one GPU for each process that mpirun started on this machine (launched_rank.h).
/// Throws UsageError for any other text, UnavailableError if the device is unavailable.
DeviceChoice choose_device(std::string_view text);

/// Model name of the CPU from the operating system; "unknown" if it has none.
std::string cpu_model();

/// Free bytes on the device now; on the CPU, available physical memory.
size_t free_memory_bytes(Device device);

}  // namespace lenslet
