#include "apps/common/ceilings/memory_ceilings.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "apps/common/ceilings/best_time.h"
#include "apps/common/ceilings/ceiling_kernels.h"
#include "apps/common/ceilings/peak_rates.h"
#include "framework/base/parallel.h"
#include "framework/gpu_side.h"

namespace lenslet {
namespace {

// Least bytes moved in one window: on the CPU per thread, with kMaxMoved as the limit of the total; on a GPU in total.
// In the nearest cache these take some tenths of a millisecond: long enough that starting the threads is negligible,
// short enough that some windows are undisturbed on a busy machine.
constexpr size_t kMovedByThread = 16 * kMiB, kMaxMoved = 1024 * kMiB;
[[maybe_unused]] constexpr size_t kMovedByGpu = 1024 * kMiB;  // unused in a build without the GPU side
// Counts the fastest window. Runs at least kRepeats, and more while kBudgetNs lasts. Both are chosen by hand.
constexpr int kRepeats = 5;
constexpr double kBudgetNs = 2e7;

constexpr size_t kStepBytes = 512;  // of the reading loop

// Each thread's share of `bytes`, rounded down to whole steps, of which it is at least one.
size_t slice_of(size_t bytes) {
  return std::max(bytes / static_cast<size_t>(num_threads()) / kStepBytes, size_t{1}) * kStepBytes;
}

// The least that a device's threads copy.
size_t min_bytes(Device device) {
  return device.is_cuda() ? kStepBytes : kStepBytes * static_cast<size_t>(num_threads());
}

// Each thread calls `body` on its own slice `times` times, without dispatching in between.
template <typename Body>
void on_slices(size_t slice, int times, const Body& body) {
  const int64_t threads = num_threads();
  parallel_for(threads, 1, [&](int64_t first, int64_t last) {
    for (int64_t thread = first; thread < last; ++thread) {
      for (int i = 0; i < times; ++i) {
        body(static_cast<size_t>(thread) * slice);
        asm volatile("" : : : "memory");  // keeps the compiler from merging the repetitions
      }
    }
  });
}

}  // namespace

MemoryCeilings::MemoryCeilings(size_t largest_bytes, Stream& stream)
    : stream_(stream),
      from_(stream.device(), std::max(largest_bytes, min_bytes(stream.device()))),
      to_(stream.device(), from_.bytes()) {
  // The first copy writes the other buffer. What is read must be written first: an untouched page is the zero page.
  fill_bytes(from_.data(), from_.device(), 1, from_.bytes(), stream);
}

MemoryRates MemoryCeilings::rates(size_t bytes) {
  bytes = std::min(bytes, from_.bytes());
  return stream_.device().is_cuda() ? rates_of_gpu(bytes) : rates_of_cpu(bytes);
}

MemoryRates MemoryCeilings::rates_of_gpu(size_t bytes) {
  const auto size = static_cast<double>(bytes);
  MemoryRates rates;
  const int copies = static_cast<int>(std::clamp<size_t>(64 * kMiB / bytes, 1, 20));
  const double copy_ns = best_ns(stream_, kRepeats, kBudgetNs, [&] {
    for (int i = 0; i < copies; ++i)
      copy_bytes(to_.data(), to_.device(), from_.data(), from_.device(), bytes, stream_);
  });
  rates.copy = 2.0 * copies * size / copy_ns * 1e9;
#ifdef LENSLET_HAS_CUDA
  const int passes = static_cast<int>(std::max<size_t>(kMovedByGpu / bytes, 1));
  double read_bytes = 0;
  const double read_ns = best_ns(stream_, kRepeats, kBudgetNs, [&] {
    read_bytes = launch_read(stream_, from_.data(), bytes, passes, to_.as<float>());
  });
  if (read_bytes > 0) rates.read = read_bytes / read_ns * 1e9;
#endif
  return rates;
}

MemoryRates MemoryCeilings::rates_of_cpu(size_t bytes) {
  const auto threads = static_cast<size_t>(num_threads());
  const size_t slice = slice_of(bytes);
  bytes = slice * threads;
  const auto size = static_cast<double>(bytes);
  const size_t moved = std::min(kMovedByThread * threads, kMaxMoved);
  const int times = static_cast<int>(std::clamp<size_t>(moved / bytes, 1, 65536));
  MemoryRates rates;
  const double copy_ns = best_ns(stream_, kRepeats, kBudgetNs, [&] {
    on_slices(slice, times,
              [&](size_t offset) { std::memcpy(to_.as<char>() + offset, from_.as<char>() + offset, slice); });
  });
  rates.copy = 2.0 * times * size / copy_ns * 1e9;
  std::atomic<uint32_t> sink{0};
  const double read_ns = best_ns(stream_, kRepeats, kBudgetNs, [&] {
    on_slices(slice, times, [&](size_t offset) {
      sink += read_words(from_.as<uint32_t>() + offset / sizeof(uint32_t),
                         static_cast<int64_t>(slice / sizeof(uint32_t)));
    });
  });
  rates.read = times * size / read_ns * 1e9;
  return rates;
}

}  // namespace lenslet
