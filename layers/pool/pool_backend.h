// PoolBackend: one way to compute pooling layers on one kind of device.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"
#include "framework/device/stream.h"
#include "framework/graph/backend_table.h"
#include "layers/pool/pool_window.h"

namespace lenslet {

/// The last kind averages without counting the padding.
enum class PoolKind { kMax, kAverage, kAverageInside };

/// x [planes, h, w] -> y [planes, p, q], planes = N * C.
struct Pool2dProblem {
  PoolKind kind = PoolKind::kMax;  ///< kAverageInside if padding is not counted.
  Pool2dWindow window;             ///< Size, stride and padding.
  int64_t planes = 0;              ///< N * C.
  int64_t h = 0, w = 0;            ///< Rows and columns of the input.
  int64_t p = 0, q = 0;            ///< Rows and columns of the output.
  /// Whether a window is a whole plane.
  bool is_whole() const noexcept {
    return p == 1 && q == 1 && window.plain() && window.pad_h == 0 && window.pad_w == 0 && window.r == h &&
           window.s == w;
  }
};

/// Cells [low, high) of one direction.
struct CellRange {
  int64_t low = 0;   ///< The first one, from 0 in the input; negative in the padding.
  int64_t high = 0;  ///< The one after the last.
};
/// The number of cells of a window, `dilation` apart from `begin` on, that lie in `range`.
LENSLET_HOST_DEVICE inline int64_t cells_within(int64_t begin, int64_t size, int64_t dilation,
                                                CellRange range) {
  const int64_t first = begin >= range.low ? 0 : (range.low - begin + dilation - 1) / dilation;
  const int64_t end = begin >= range.high ? 0 : (range.high - begin + dilation - 1) / dilation;
  const int64_t last = end < size ? end : size;
  return last > first ? last - first : 0;
}

/// Supports every problem and needs no preparation.
struct PoolBackend {
  /// Enqueues on `stream`. Throws DeviceError.
  void (*run)(const Pool2dProblem& problem, const float* x, float* y, Stream& stream);
};

/// The rows of layers/pool/CMakeLists.txt.
const BackendTable<PoolBackend>& pool_table();

namespace pool_backends {
using Interface = PoolBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
