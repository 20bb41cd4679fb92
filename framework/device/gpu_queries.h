// Queries of the limits of one GPU (gpu_limits.h). Internal: only for files that include CUDA headers.
#pragma once

#include <cstddef>
#include <optional>

#include "framework/base/error.h"
#include "framework/device/cuda_check.h"
#include "framework/device/device.h"
#include "framework/device/gpu_limits.h"

namespace lenslet {

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
/// 90 for 9.0. Throws DeviceError.
inline int compute_capability(Device device) {
  return 10 * device_attribute(cudaDevAttrComputeCapabilityMajor, device) +
         device_attribute(cudaDevAttrComputeCapabilityMinor, device);
}

/// Throws DeviceError.
inline GpuTraits gpu_traits(Device device) {
  const int shared_bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return {compute_capability(device), multiprocessor_count(device), static_cast<size_t>(shared_bytes)};
}

/// gpu_traits() from the cached cuda_status(); nullopt for an unknown ordinal.
inline std::optional<GpuTraits> find_gpu(Device device) {
  const CudaStatus& cuda = cuda_status();
  const auto ordinal = static_cast<size_t>(device.ordinal);
  if (ordinal >= cuda.devices.size()) return std::nullopt;
  const CudaDeviceInfo& info = cuda.devices[ordinal];
  return GpuTraits{info.compute_capability, info.multiprocessors, info.shared_bytes_per_block_optin};
}

/// Whether the current GPU is of a compute capability that `rule` supports, so that `auto` chooses another backend if
/// it is too old. Yes without a usable GPU: the answer then depends only on the problem.
template <typename Rule>
Support current_gpu_supports(Rule&& rule) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    (void)cudaGetLastError();
    return Support::yes();
  }
  return rule(compute_capability(Device::cuda(device)));
}

/// Lets a block of the kernel have `bytes` of dynamic shared memory. Never lowers its limit: another operator may
/// launch the same kernel with more. Threads may call it at once. Throws DeviceError.
void allow_shared_bytes(const void* kernel, size_t bytes);

}  // namespace lenslet
