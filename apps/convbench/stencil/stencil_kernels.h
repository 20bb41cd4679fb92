// The kernels of the stencil study: four ways to store the filter and stage the neighbours, one file each.
#pragma once

#include "apps/convbench/bench/study_kernel.h"
#include "apps/convbench/stencil/stencil.h"

namespace lenslet {

/// The largest number of taps that constant memory and a tile's halo have room for.
constexpr int kMaxTaps1d = 4095, kMaxTaps2d = 63;

struct StencilShape {
  int height, width, taps, before;
};

using StencilKernel = StudyKernel<StencilShape>;  // of x and the filter

// One file each.
StencilKernel stencil_global_kernel(const Stencil& stencil, Boundary boundary);  // filter from global memory
StencilKernel stencil_constant_kernel(const Stencil& stencil,
                                      Boundary boundary);  // filter from constant memory
StencilKernel stencil_tiled_kernel(const Stencil& stencil,
                                   Boundary boundary);  // also x, in tiles in shared memory
StencilKernel stencil_vector_kernel(const Stencil& stencil,
                                    Boundary boundary);  // also several outputs per thread

}  // namespace lenslet
