// Launches of kernels in clusters of blocks, from compute capability 9.0 on. Internal: includes CUDA.
#pragma once

#include <cuda_runtime.h>

#include "framework/device/gpu_queries.h"
#include "framework/device/launch_check.h"
#include "framework/device/native_stream.h"

namespace lenslet {

/// How a kernel of clusters is launched. With `early` it may begin before the previous launch ends: every block calls
/// wait_for_launch_before() of framework/instructions/early_launch.cuh.
struct ClusterShape {
  int blocks;   // of a cluster
  int threads;  // of a block
  int dynamic_shared_bytes = 0;
  bool early = true;
};

/// Number of clusters of `kernel` that run at once on the current device; 0 if it does not support that size. Prepares
/// the kernel for them.
inline int clusters_at_once(const void* kernel, const ClusterShape& shape) {
  allow_shared_bytes(kernel, static_cast<size_t>(shape.dynamic_shared_bytes));
  if (shape.blocks > GpuLimits::kPortableCluster) {
    LENSLET_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(shape.blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(shape.blocks);
  config.blockDim = static_cast<unsigned>(shape.threads);
  config.dynamicSmemBytes = static_cast<size_t>(shape.dynamic_shared_bytes);
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
  if (error == cudaErrorInvalidClusterSize) {
    (void)cudaGetLastError();  // not sticky: the next smaller size may work
    return 0;
  }
  if (error != cudaSuccess) throw_cuda_error(error, "cudaOccupancyMaxActiveClusters", __FILE__, __LINE__);
  return clusters;
}

/// Enqueues `clusters` clusters. Throws DeviceError with the kernel's `name` if the launch fails.
template <typename... Parameters, typename... Arguments>
void launch_clusters(const char* name, void (*kernel)(Parameters...), int clusters, const ClusterShape& shape,
                     const Stream& stream, const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(shape.blocks), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(clusters * shape.blocks);
  config.blockDim = static_cast<unsigned>(shape.threads);
  config.dynamicSmemBytes = static_cast<size_t>(shape.dynamic_shared_bytes);
  config.stream = native(stream);
  config.attrs = attributes;
  config.numAttrs = shape.early ? 2 : 1;
  (void)cudaLaunchKernelEx(&config, kernel, arguments...);
  LENSLET_CUDA_CHECK_LAUNCH_OF(name);
}

}  // namespace lenslet
