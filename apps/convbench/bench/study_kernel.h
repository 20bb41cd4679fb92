// A kernel of a study with its launch configuration. study_none.cpp has the stand-ins of a build without CUDA.
#pragma once

#include <string>

#include "framework/base/error.h"
#include "framework/device/launch_resources.h"
#include "framework/device/stream.h"
#include "framework/graph/layer.h"

namespace lenslet {

struct StudyLaunch {
  const char* name = nullptr;  // "stencil_tiled_1d_kernel"
  unsigned threads_x = 1, threads_y = 1, blocks_x = 1, blocks_y = 1;
  size_t shared_bytes = 0;
  std::string refusal;  // why there is no kernel; empty if there is one
};

/// Computes `y` from `a` and `b`, whose meaning depends on the study.
template <class Shape>
struct StudyKernel : StudyLaunch {
  using Function = void (*)(Shape shape, const float* a, const float* b, float* y);
  Function function = nullptr;
  /// Copies the filter of `count` taps to this kernel's constant memory; null if it reads `b`.
  void (*upload)(const float* filter, int count, Stream& stream) = nullptr;

  const void* address() const { return reinterpret_cast<const void*>(function); }
};

/// Whether the device can launch it, by its limits; if not, the reason. `kernel` may be null.
Support study_support(const StudyLaunch& launch, const void* kernel, Device device);
/// Registers, shared memory and occupancy. Throws DeviceError.
LaunchResources study_launch_resources(const StudyLaunch& launch, const void* kernel);
/// Enqueues one launch. Throws DeviceError with the kernel's name if the launch fails.
void study_enqueue(const StudyLaunch& launch, const void* kernel, void** arguments, Stream& stream);

template <class Shape>
Support study_support(const StudyKernel<Shape>& kernel, Device device) {
  return study_support(kernel, kernel.address(), device);
}
template <class Shape>
LaunchResources study_launch_resources(const StudyKernel<Shape>& kernel) {
  return study_launch_resources(kernel, kernel.address());
}
template <class Shape>
void study_enqueue(const StudyKernel<Shape>& kernel, Shape shape, const float* a, const float* b, float* y,
                   Stream& stream) {
  void* arguments[] = {&shape, &a, &b, &y};
  study_enqueue(kernel, kernel.address(), arguments, stream);
}

}  // namespace lenslet
