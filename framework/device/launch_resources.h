// Resources of a multiprocessor that a kernel launch uses.
#pragma once

#include <cstddef>
#include <string>

namespace lenslet {

/// From the CUDA runtime for the current device: function attributes and the occupancy calculator.
struct LaunchResources {
  std::string kernel;                 // "conv_winograd_multiply_kernel"
  int threads_per_block = 0;          // as launched
  int registers_per_thread = 0;       // as compiled for this GPU
  size_t shared_bytes = 0;            // per block, static and dynamic
  size_t local_bytes = 0;             // per thread: spilled registers and arrays indexed at run time
  int blocks_per_multiprocessor = 0;  // resident at once
  double occupancy = 0;               // resident warps over the maximum of a multiprocessor, 0..1
};

}  // namespace lenslet
