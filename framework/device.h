// Devices: naming, choosing and describing them. No CUDA type appears here; a build without CUDA has the same
// API.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lenslet {

/// The two kinds of device that backends are written for.
enum class DeviceKind { kCpu, kCuda };

/// "cpu" or "cuda".
const char* to_string(DeviceKind kind) noexcept;

/// One device: the CPU, or a GPU by its ordinal.
struct Device {
  DeviceKind kind = DeviceKind::kCpu;  // the CPU unless said otherwise
  int ordinal = 0;                     // CUDA ordinal; 0 for the CPU

  /// Whether it is a GPU.
  bool is_cuda() const noexcept { return kind == DeviceKind::kCuda; }
  /// The CPU.
  static Device cpu() noexcept { return {}; }
  /// The GPU with that CUDA ordinal; whether it is there is not asked.
  static Device cuda(int ordinal = 0) noexcept { return {DeviceKind::kCuda, ordinal}; }
  /// "cpu" or "cuda:0".
  std::string to_string() const;
  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.kind == b.kind && a.ordinal == b.ordinal;
  }
  friend bool operator!=(const Device& a, const Device& b) noexcept { return !(a == b); }
};

/// What one GPU is, as the CUDA runtime reports it.
struct CudaDeviceInfo {
  std::string name;                         // "NVIDIA H200"
  int compute_capability = 0;               // 90 for 9.0
  int multiprocessors = 0;                  // of the GPU
  size_t memory_bytes = 0;                  // of the device, all of it
  size_t l2_bytes = 0;                      // last-level cache
  size_t shared_bytes_per_block_optin = 0;  // most dynamic shared memory that a kernel may ask for
  bool has_code = false;                    // this build holds machine code or PTX that runs on it
};

/// Whether CUDA can be used here, asked once a process; the reason where it cannot.
struct CudaStatus {
  bool built = false;                   // this build has the GPU side
  bool usable = false;                  // at least one device can be used
  std::string reason;                   // why not usable: "no NVIDIA driver is loaded", …
  int driver_version = 0;               // 13000 for 13.0; 0 = no driver
  int runtime_version = 0;              // of the linked CUDA runtime; 0 in a build without CUDA
  std::string architectures;            // compiled in: "90-real,90-virtual"
  std::vector<CudaDeviceInfo> devices;  // by ordinal
};

/// Asks the CUDA runtime on the first call and remembers the answer. Never throws, opens nothing in a CPU
/// build.
const CudaStatus& cuda_status();

/// A device and, for "auto", the reason it was taken.
struct DeviceChoice {
  Device device;       // the one chosen
  std::string reason;  // why it was taken, where the text was "auto"
};

/// Reads `auto`, `cpu`, `cuda` or `cuda:N`. `auto` takes a usable GPU, else the CPU.
/// Throws UsageError for another text, UnavailableError for a device that is not there.
DeviceChoice choose_device(std::string_view text);

/// Model of the CPU, as the kernel names it; "unknown" where it does not.
std::string cpu_model();

/// Bytes free on the device now (the CPU: available physical memory).
size_t free_memory_bytes(Device device);

}  // namespace lenslet
