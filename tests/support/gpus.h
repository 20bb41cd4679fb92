// The published limits of GPUs, one row each, on which the host's decisions are tested (simulated_gpu.h).
//
// Shared memory of a block and of a multiprocessor, threads and blocks of a multiprocessor: CUDA C++ Programming Guide,
// "Technical specifications per compute capability". Multiprocessors, GPCs, L2 cache and memory: NVIDIA's
// architecture papers and data sheets of Turing (T4: TU104), Ampere (A100 80 GB: GA100), Ada (L4: AD104, RTX 4090:
// AD102), Hopper (H100 SXM, H200: GH100) and Blackwell (B200: two dies of GB100).
#pragma once

#include <vector>

#include "tests/support/simulated_gpu.h"

namespace lenslet {

/// By the ordinals that insert_gpus() gives them.
enum GpuOrdinal : int { kT4, kA100, kL4, kRtx4090, kH100, kH200, kB200 };

inline const std::vector<simulated_gpu::Gpu>& published_gpus() {
  constexpr int kKib = 1024;
  static const std::vector<simulated_gpu::Gpu> gpus = {
      // multiprocessors, capability, bytes a block, name, bytes and threads and blocks a multiprocessor, GPCs, L2, GB
      {40, 75, 64 * kKib, "T4", 64 * kKib, 1024, 16, 5, 4, 16},
      {108, 80, 163 * kKib, "A100", 164 * kKib, 2048, 32, 7, 40, 80},
      {58, 89, 99 * kKib, "L4", 100 * kKib, 1536, 24, 5, 48, 24},
      {128, 89, 99 * kKib, "RTX 4090", 100 * kKib, 1536, 24, 11, 72, 24},
      {132, 90, 227 * kKib, "H100", 228 * kKib, 2048, 32, 8, 50, 80},
      {132, 90, 227 * kKib, "H200", 228 * kKib, 2048, 32, 8, 50, 141},
      {148, 100, 227 * kKib, "B200", 228 * kKib, 2048, 32, 8, 126, 180},
  };
  return gpus;
}

}  // namespace lenslet
