// A kernel and how it is launched. Internal: only for files that include CUDA headers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "framework/base/alignment.h"
#include "framework/device/gpu_queries.h"
#include "framework/device/launch_check.h"
#include "framework/device/launch_resources.cuh"
#include "framework/device/native_stream.h"

namespace lenslet {

/// Enqueues a kernel. Throws DeviceError with its `name`.
template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
            cudaStream_t stream, const Arguments&... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(arguments...);
  LENSLET_CUDA_CHECK_LAUNCH_OF(name);
}

/// Enqueues a kernel that may begin before the launch before it ends, where the GPU supports that. The kernel calls
/// wait_for_launch_before() of framework/instructions/early_launch.cuh. Throws DeviceError with its `name`.
template <typename... Parameters, typename... Arguments>
void launch_early(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                  const Stream& stream, const Arguments&... arguments) {
  const std::optional<GpuTraits> gpu = find_gpu(stream.device());
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = native(stream);
  config.attrs = &early;
  config.numAttrs = gpu && gpu->compute_capability >= GpuLimits::kEarlyLaunch ? 1 : 0;
  (void)cudaLaunchKernelEx(&config, kernel, arguments...);
  LENSLET_CUDA_CHECK_LAUNCH_OF(name);
}

/// The launch of a kernel that computes `count` floats of each array in quads, with a thread for each, and whose first
/// threads compute the rest. There are no quads, and a thread computes one float, if an array is not aligned to them.
struct QuadLaunch {
  int64_t quads = 0;
  unsigned blocks = 0;
  QuadLaunch(int64_t count, int threads_per_block, std::initializer_list<const float*> arrays) {
    const bool aligned = std::all_of(arrays.begin(), arrays.end(),
                                     [](const float* array) { return is_aligned(array, sizeof(float4)); });
    quads = aligned ? count / 4 : 0;
    blocks = grid_blocks(quads > 0 ? quads : count, threads_per_block);
  }
};

/// One kernel with its name, grid, block and dynamic shared memory.
template <typename... Parameters>
class KernelLaunch {
 public:
  using Function = void (*)(Parameters...);
  KernelLaunch() = default;
  /// On the current device. Throws DeviceError.
  KernelLaunch(const char* name, Function kernel, dim3 grid, dim3 block, size_t shared_bytes = 0)
      : name_(name), kernel_(kernel), grid_(grid), block_(block), shared_bytes_(shared_bytes) {
    if (shared_bytes > 0) allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes);
  }
  /// Whether it has a kernel.
  explicit operator bool() const noexcept { return kernel_ != nullptr; }
  /// Enqueues it. Throws DeviceError.
  void operator()(const Stream& stream, const Parameters&... parameters) const {
    launch(name_, kernel_, grid_, block_, shared_bytes_, native(stream), parameters...);
  }
  /// Enqueues it as launch_early() does. Throws DeviceError.
  void early(const Stream& stream, const Parameters&... parameters) const {
    launch_early(name_, kernel_, grid_, block_, shared_bytes_, stream, parameters...);
  }
  /// Not for run().
  LaunchResources resources() const {
    return launch_resources(name_, reinterpret_cast<const void*>(kernel_),
                            static_cast<int>(block_.x * block_.y * block_.z), shared_bytes_);
  }
  /// A copy of this launch with another grid.
  KernelLaunch with_grid(dim3 grid) const {
    KernelLaunch other = *this;
    other.grid_ = grid;
    return other;
  }
  dim3 block() const noexcept { return block_; }
  size_t shared_bytes() const noexcept { return shared_bytes_; }

 private:
  const char* name_ = nullptr;
  Function kernel_ = nullptr;
  dim3 grid_, block_;
  size_t shared_bytes_ = 0;
};

}  // namespace lenslet
