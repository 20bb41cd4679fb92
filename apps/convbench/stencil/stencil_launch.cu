// The launch of the study's kernels.
#include "apps/convbench/stencil/stencil_kernels.h"
#include "framework/launch_check.h"
#include "framework/launch_resources.cuh"
#include "framework/stream.h"

namespace lenslet {

LaunchResources stencil_launch_resources(const StencilKernel& kernel) {
  return launch_resources(kernel.name, reinterpret_cast<const void*>(kernel.function),
                          static_cast<int>(kernel.threads_x * kernel.threads_y), kernel.shared_bytes);
}

void stencil_enqueue(const StencilKernel& kernel, const Stencil& stencil, const float* x, const float* filter,
                     float* y, Stream& stream) {
  const dim3 blocks(kernel.blocks_x, kernel.blocks_y), threads(kernel.threads_x, kernel.threads_y);
  const StencilShape shape{stencil.height, stencil.width, stencil.taps, stencil.before()};
  kernel
      .function<<<blocks, threads, kernel.shared_bytes, static_cast<cudaStream_t>(stream.native_handle())>>>(
          shape, x, filter, y);
  LENSLET_CUDA_CHECK_LAUNCH_OF(kernel.name);
}

}  // namespace lenslet
