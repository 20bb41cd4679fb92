// MemoryCeilings: the rates at which a device copies and reads, in memory and in each cache. Internal to the measuring
// of ceilings.
#pragma once

#include <cmath>
#include <cstddef>

#include "framework/device/stream.h"
#include "framework/tensor/tensor.h"

namespace lenslet {

inline constexpr size_t kMiB = 1024 * 1024;

/// Bytes per second. A copy counts bytes read and written, a read counts bytes read.
struct MemoryRates {
  double copy = NAN, read = NAN;
};

class MemoryCeilings {
 public:
  /// Allocates two buffers for the largest measurement, once: on a CPU the first write of a page takes longer than
  /// copying it. Throws MemoryError.
  MemoryCeilings(size_t largest_bytes, Stream& stream);
  /// The rates of the first `bytes` of both buffers. A short operation is repeated within one window.
  MemoryRates rates(size_t bytes);

 private:
  MemoryRates rates_of_gpu(size_t bytes);
  MemoryRates rates_of_cpu(size_t bytes);

  Stream& stream_;
  Buffer from_, to_;
};

}  // namespace lenslet
