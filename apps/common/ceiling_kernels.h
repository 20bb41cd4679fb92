// Kernels that do nothing but what a ceiling is of. Only in a build with the GPU side.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "framework/math_mode.h"
#include "framework/stream.h"

namespace lenslet {

/// One multiply-add instruction, on all multiprocessors at once.
struct PeakKernel {
  MathMode math;
  std::string instruction;  // "FFMA", "mma.sync", "wgmma"
  /// Enqueues about a millisecond of it and returns the operations, two for each multiply-add. `sink`: one float in
  /// device memory, which is not written to in practice.
  std::function<double(Stream&, float* sink)> launch;
};
/// Those that the device has and this build holds code for.
std::vector<PeakKernel> peak_kernels(Device device);

/// Enqueues `passes` readings of `data`, all of it or, where that is no whole number of steps of the grid, a little
/// less, past the L1 caches. Returns the bytes read. `data` is aligned to 16 bytes; `sink` as above.
double launch_read(Stream& stream, const void* data, size_t bytes, int passes, float* sink);

/// Enqueues one kernel of one thread that does nothing.
void launch_empty(Stream& stream);

/// Of ceiling_kernels_hopper.cu: enqueues `blocks` blocks of wgmma and returns the operations. `math`: tf32 or fp16.
double launch_wgmma_peak(Stream& stream, MathMode math, int blocks, float* sink);

}  // namespace lenslet
