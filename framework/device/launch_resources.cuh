// Queries the CUDA runtime for the resources of a launch. Internal: only for files that include CUDA headers.
#pragma once

#include "framework/device/cuda_check.h"
#include "framework/device/gpu_limits.h"
#include "framework/device/launch_resources.h"

namespace lenslet {

/// What a launch of `kernel` takes on the current device with that block size. Not for run(): the query takes
/// microseconds. Throws DeviceError.
inline LaunchResources launch_resources(const char* name, const void* kernel, int threads_per_block,
                                        size_t dynamic_shared_bytes) {
  LaunchResources resources;
  resources.kernel = name;
  resources.threads_per_block = threads_per_block;
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  resources.registers_per_thread = attributes.numRegs;
  resources.shared_bytes = attributes.sharedSizeBytes + dynamic_shared_bytes;
  resources.local_bytes = attributes.localSizeBytes;
  LENSLET_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resources.blocks_per_multiprocessor, kernel, threads_per_block, dynamic_shared_bytes));
  int device = 0, max_threads = 0;
  LENSLET_CUDA_CHECK(cudaGetDevice(&device));
  LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&max_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  const int resident =
      resources.blocks_per_multiprocessor * ((threads_per_block + GpuLimits::kWarp - 1) / GpuLimits::kWarp);
  resources.occupancy = static_cast<double>(resident) * GpuLimits::kWarp / max_threads;
  return resources;
}

}  // namespace lenslet
