#include "framework/device/cuda_check.h"
#include "framework/device/gpu_queries.h"
#include "framework/device/native_stream.h"
#include "tests/faults/hanging_kernel.h"

namespace lenslet {
namespace {

constexpr int kThreads = 1024;  // two such blocks use all threads of a multiprocessor
constexpr unsigned long long kHangNs = 30'000'000'000ull;

// computes: nothing, for a long time · work split: none · memory: none · requires: nothing · measured: never
__global__ void __launch_bounds__(kThreads) hanging_kernel() {
  unsigned long long began = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - began < kHangNs);
}

}  // namespace

void enqueue_hang(Stream& stream, bool whole_gpu) {
  const DeviceGuard guard(stream.device());
  const int blocks = whole_gpu ? 2 * multiprocessor_count(stream.device()) : 1;
  hanging_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, native(stream)>>>();
  LENSLET_CUDA_CHECK_LAUNCH("hanging_kernel");
}

}  // namespace lenslet
