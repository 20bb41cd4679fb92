// The limits by which launches are sized: one table for all GPUs, and queries for one card. Internal: only for files
// that include CUDA headers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "framework/base/error.h"
#include "framework/device/cuda_check.h"
#include "framework/device/device.h"

namespace lenslet {

/// What every supported GPU has; CUDA C++ Programming Guide, "Technical specifications per compute capability".
struct GpuLimits {
  static constexpr int kGridX = INT32_MAX, kGridYZ = 65535;  // blocks
  static constexpr int kWarp = 32;                           // threads
  static constexpr int kSharedBytes = 48 * 1024;             // of a block, without opting in
  static constexpr int kHopperSharedBytes =
      227 * 1024;                                    // of a block, opted in, from compute capability 9.0 on
  static constexpr int kAsyncCopies = 80;            // compute capability with cp.async, tf32 and mma.sync
  static constexpr int kClusters = 90, kWgmma = 90;  // compute capability with clusters of blocks, with wgmma
  static constexpr int kPortableCluster = 8;         // blocks of a cluster, without opting in
  /// Elements that a kernel counts in an int: the last block may reach past the end.
  static constexpr int64_t kElements = INT32_MAX - 4096;
};

/// Throws DeviceError.
inline int device_attribute(cudaDeviceAttr which, Device device) {
  int value = 0;
  LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device.ordinal));
  return value;
}
/// Throws DeviceError.
inline int multiprocessor_count(Device device) {
  return device_attribute(cudaDevAttrMultiProcessorCount, device);
}
/// Bytes of shared memory that a block may opt in to. Throws DeviceError.
inline int shared_bytes_limit(Device device) {
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}
/// 90 for 9.0. Throws DeviceError.
inline int compute_capability(Device device) {
  return 10 * device_attribute(cudaDevAttrComputeCapabilityMajor, device) +
         device_attribute(cudaDevAttrComputeCapabilityMinor, device);
}

/// Null if there is no such GPU.
inline const CudaDeviceInfo* find_gpu(Device device) {
  const CudaStatus& cuda = cuda_status();
  const auto ordinal = static_cast<size_t>(device.ordinal);
  return ordinal < cuda.devices.size() ? &cuda.devices[ordinal] : nullptr;
}

/// No, with a reason that begins with `who`, for a card of a lower compute capability than `least`: "mma needs".
inline Support needs_capability(const std::string& who, int least, int found, const char* remedy) {
  if (found >= least) return Support::yes();
  return Support::no(concat(who, " compute capability ", least / 10, ".", least % 10, ", this GPU has ",
                            found / 10, ".", found % 10, ": ", remedy));
}

/// The same for the GPU `device`; yes if there is no such GPU, which another check reports.
inline Support needs_capability(const std::string& who, int least, Device device, const char* remedy) {
  const CudaDeviceInfo* const gpu = find_gpu(device);
  return gpu ? needs_capability(who, least, gpu->compute_capability, remedy) : Support::yes();
}

/// Lets a block of the kernel have `bytes` of dynamic shared memory. Never lowers its limit: another operator may
/// launch the same kernel with more. Threads may call it at once. Throws DeviceError.
inline void allow_shared_bytes(const void* kernel, size_t bytes) {
  static std::mutex reading_and_raising;
  const std::lock_guard<std::mutex> lock(reading_and_raising);
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  if (attributes.sharedSizeBytes + bytes <= GpuLimits::kSharedBytes) return;
  const int most = std::max(static_cast<int>(bytes), attributes.maxDynamicSharedSizeBytes);
  LENSLET_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
}

}  // namespace lenslet
