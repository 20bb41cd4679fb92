#include "layers/pool/cpu/max_pool_part.h"

#include <algorithm>
#include <limits>

#include "framework/base/integer_math.h"
#include "framework/base/simd.h"
#include "framework/tensor/keep_nan.h"

namespace lenslet {
namespace {

LENSLET_SIMD_CLONES void gather_max(const float* x, int64_t stride, float* y, int64_t count) {
  if (stride == 1) {
    for (int64_t q = 0; q < count; ++q) y[q] = larger(y[q], x[q]);
  } else {
    for (int64_t q = 0; q < count; ++q) y[q] = larger(y[q], x[q * stride]);
  }
}

// `rows` x `columns` 2x2 windows with stride 2 from x on, with contiguous maxima. Rows are reduced first, then
// neighbours of as many rows at once as fit, so that the second loop is long for any width.
LENSLET_SIMD_CLONES void max_2x2(const float* x, int64_t pitch, int64_t rows, int64_t columns, float* y) {
  float folded[kFoldValues];
  const int64_t width = 2 * columns, max_rows = kFoldValues / width;
  for (int64_t first = 0; first < rows; first += max_rows) {
    const int64_t count = std::min(max_rows, rows - first);
    for (int64_t i = 0; i < count; ++i) {
      const float* top = x + (first + i) * 2 * pitch;
      for (int64_t j = 0; j < width; ++j) folded[i * width + j] = larger(top[j], top[pitch + j]);
    }
    float* out = y + first * columns;
    for (int64_t q = 0; q < count * columns; ++q) out[q] = larger(folded[2 * q], folded[2 * q + 1]);
  }
}

}  // namespace

PositionRange windows_inside(int64_t size, int64_t offset, int64_t stride, PositionRange range) {
  const int64_t first = offset >= 0 ? 0 : ceil_div(-offset, stride);
  const int64_t end = offset >= size ? 0 : (size - 1 - offset) / stride + 1;
  const int64_t begin = std::clamp(first, range.first, range.end);
  return {begin, std::clamp(end, begin, range.end)};
}

void max_pool_part(const Pool2dWindow& window, const PlanePart& part, const WindowRange& windows, float* y,
                   int64_t y_pitch) {
  const int64_t columns = windows.end_column - windows.first_column;
  if (window.is_halving() && y_pitch == columns && 2 * columns <= kFoldValues) {
    const float* first = part.values + (2 * windows.first_row - part.row) * part.pitch +
                         (2 * windows.first_column - part.column);
    max_2x2(first, part.pitch, windows.end_row - windows.first_row, columns, y);
    return;
  }
  for (int64_t p = windows.first_row; p < windows.end_row; ++p, y += y_pitch) {
    std::fill(y, y + columns, -std::numeric_limits<float>::infinity());
    const int64_t top = p * window.stride_h - window.pad_h;
    for (int64_t row = std::max<int64_t>(top, 0); row < std::min(top + window.r, part.h); ++row) {
      for (int64_t s = 0; s < window.s; ++s) {
        const int64_t offset = s - window.pad_w;
        const PositionRange q =
            windows_inside(part.w, offset, window.stride_w, {windows.first_column, windows.end_column});
        if (q.first == q.end) continue;
        const float* x =
            part.values + (row - part.row) * part.pitch + (q.first * window.stride_w + offset - part.column);
        gather_max(x, window.stride_w, y + (q.first - windows.first_column), q.end - q.first);
      }
    }
  }
}

}  // namespace lenslet
