// The kernels of the stencil study: four ways to store the filter and stage the neighbours, one file each.
#pragma once

#include "apps/convbench/stencil/stencil.h"
#include "framework/launch_resources.h"

namespace lenslet {

/// The largest number of taps that constant memory and a tile's halo have room for.
constexpr int kMaxTaps1d = 4095, kMaxTaps2d = 63;

struct StencilShape {
  int height, width, taps, before;
};

/// A kernel with its launch configuration, for one stencil and boundary.
struct StencilKernel {
  using Function = void (*)(StencilShape shape, const float* x, const float* filter, float* y);
  const char* name = nullptr;   // "stencil_tiled_1d_kernel"
  Function function = nullptr;  // null: no kernel, for the reason in `refusal`
  std::string refusal;
  /// Copies the filter [filter_size] to this kernel's constant memory; null if it reads `filter`.
  void (*upload)(const float* filter, int count, Stream& stream) = nullptr;
  unsigned threads_x = 1, threads_y = 1, blocks_x = 1, blocks_y = 1;
  size_t shared_bytes = 0;
};

// One file each.
StencilKernel stencil_global_kernel(const Stencil& stencil, Boundary boundary);  // filter from global memory
StencilKernel stencil_constant_kernel(const Stencil& stencil,
                                      Boundary boundary);  // filter from constant memory
StencilKernel stencil_tiled_kernel(const Stencil& stencil,
                                   Boundary boundary);  // also x, in tiles in shared memory
StencilKernel stencil_vector_kernel(const Stencil& stencil,
                                    Boundary boundary);  // also several outputs per thread

/// Registers, shared memory and occupancy. Throws DeviceError.
LaunchResources stencil_launch_resources(const StencilKernel& kernel);
/// Enqueues one pass over x. `filter` is the copy in global memory.
void stencil_enqueue(const StencilKernel& kernel, const Stencil& stencil, const float* x, const float* filter,
                     float* y, Stream& stream);

}  // namespace lenslet
