// Number of multiprocessors of a GPU, by which launches are sized. Internal: only for files that include CUDA headers.
#pragma once

#include "framework/cuda_check.h"
#include "framework/device.h"

namespace lenslet {

/// Throws DeviceError.
inline int multiprocessor_count(Device device) {
  int count = 0;
  LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device.ordinal));
  return count;
}

}  // namespace lenslet
