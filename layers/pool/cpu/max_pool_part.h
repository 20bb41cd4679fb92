// Max pooling of a part of one plane on the CPU, for the pooling layer and for a convolution that pools its results
// while they are in the cache. Internal.
//
//   y[p, q] = max over r, s of x[p*stride_h - pad_h + r, q*stride_w - pad_w + s], NaN where one of them is
#pragma once

#include <cstdint>

#include "layers/pool/pool_window.h"

namespace lenslet {

/// Columns for which 2x2 pooling first takes the maxima of two rows, then of neighbours. The maxima of the rows stay in
/// the L1 cache.
inline constexpr int64_t kFoldValues = 1024;

/// The part of an h x w plane that is in memory: from (row, column) on, rows `pitch` apart.
struct PlanePart {
  const float* values = nullptr;
  int64_t pitch = 0;
  int64_t h = 0, w = 0;
  int64_t row = 0, column = 0;
};

/// Windows [first_row, end_row) x [first_column, end_column).
struct WindowRange {
  int64_t first_row = 0, end_row = 0;
  int64_t first_column = 0, end_column = 0;
};

/// Positions [first, end).
struct PositionRange {
  int64_t first = 0, end = 0;
};

/// The windows of `range` whose cell `offset` (from the start of the first window) lies inside [0, size); first = end
/// where there is none.
PositionRange windows_inside(int64_t size, int64_t offset, int64_t stride, PositionRange range);

/// Writes the maxima of `windows` to y, rows y_pitch apart. All values of the windows inside the plane must be in the
/// part.
void max_pool_part(const Pool2dWindow& window, const PlanePart& part, const WindowRange& windows, float* y,
                   int64_t y_pitch);

}  // namespace lenslet
