// Kernels that measure ceilings: each does only the work whose rate is the ceiling. Only in a build with the GPU side.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "framework/device/stream.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {

/// One multiply-add instruction, on all multiprocessors in parallel.
struct PeakKernel {
  MathMode math;
  std::string instruction;  // "FFMA", "mma.sync", "wgmma"
  /// Enqueues about a millisecond of work and returns the number of operations, two per multiply-add. `sink`: one float
  /// of device memory, which is not written in practice.
  std::function<double(Stream&, float* sink)> launch;
};
/// The instructions that the device supports and this build has code for.
std::vector<PeakKernel> peak_kernels(Device device);

/// Enqueues `passes` reads of `data` that bypass L1. A rest smaller than one step of the grid is left out. Returns the
/// number of bytes read. `data` is aligned to 16 bytes; `sink` as above.
double launch_read(Stream& stream, const void* data, size_t bytes, int passes, float* sink);

/// Enqueues one empty kernel of one thread.
void launch_empty(Stream& stream);

/// In ceiling_kernels_hopper.cu: enqueues `blocks` blocks of wgmma, returns the operations. `math`: tf32 or fp16.
double launch_wgmma_peak(Stream& stream, MathMode math, int blocks, float* sink);

}  // namespace lenslet
