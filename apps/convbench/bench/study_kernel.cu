// The studies' kernels: whether a GPU can launch them, and the launch.
#include "apps/convbench/bench/study_kernel.h"
#include "framework/device/cuda_check.h"
#include "framework/device/launch_check.h"
#include "framework/device/launch_resources.cuh"
#include "framework/device/native_stream.h"

namespace lenslet {

Support study_support(const StudyLaunch& launch, const void* kernel, Device device) {
  const auto threads = static_cast<int>(launch.threads_x * launch.threads_y);
  int max_threads = 0;
  LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&max_threads, cudaDevAttrMaxThreadsPerBlock, device.ordinal));
  if (threads > max_threads) {
    const bool square = launch.threads_x > 1 && launch.threads_y > 1;
    return Support::no(
        concat(square ? concat(launch.threads_x, " x ", launch.threads_y, " = ") : std::string(), threads,
               " threads per block, and this GPU launches up to ", max_threads));
  }
  if (!kernel) return Support::no(launch.refusal);
  cudaFuncAttributes attributes{};
  LENSLET_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  if (threads > attributes.maxThreadsPerBlock) {
    return Support::no(concat(threads, " threads per block of ", attributes.numRegs,
                              " registers each, and this GPU launches up to ", attributes.maxThreadsPerBlock,
                              " of them"));
  }
  return Support::yes();
}

LaunchResources study_launch_resources(const StudyLaunch& launch, const void* kernel) {
  return launch_resources(launch.name, kernel, static_cast<int>(launch.threads_x * launch.threads_y),
                          launch.shared_bytes);
}

void study_enqueue(const StudyLaunch& launch, const void* kernel, void** arguments, Stream& stream) {
  const dim3 blocks(launch.blocks_x, launch.blocks_y), threads(launch.threads_x, launch.threads_y);
  static_cast<void>(
      cudaLaunchKernel(kernel, blocks, threads, arguments, launch.shared_bytes, native(stream)));
  LENSLET_CUDA_CHECK_LAUNCH_OF(launch.name);
}

}  // namespace lenslet
