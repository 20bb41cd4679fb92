// WindowDirection: one direction, rows or columns, of the windows of a convolution or a pooling.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "framework/base/integer_math.h"

namespace lenslet {

/// `count` places, `step` apart.
struct EvenSteps {
  int64_t step = 1;   // from one place to the next
  int64_t count = 0;  // places
};

/// How many of the sums first + i * rows.step + j * cells.step, for i < rows.count and j < cells.count, are from 0 to
/// size - 1.
inline int64_t sums_inside(int64_t first, EvenSteps rows, EvenSteps cells, int64_t size) {
  if (cells.count > rows.count) std::swap(rows, cells);  // loops over the fewer
  const auto below = [&](int64_t from, int64_t limit) {
    return from >= limit ? 0 : std::min(ceil_div(limit - from, rows.step), rows.count);
  };
  int64_t inside = 0;
  for (int64_t j = 0; j < cells.count; ++j) {
    const int64_t from = first + j * cells.step;
    inside += below(from, size) - below(from, 0);
  }
  return inside;
}

struct WindowDirection {
  int size = 1;      // cells of a window
  int stride = 1;    // from one window to the next
  int pad = 0;       // cells before the input, and as many after it
  int more_pad = 0;  // cells after it besides; negative for fewer
  int dilation = 1;  // from one cell of a window to the next

  /// From the first cell of a window to the last.
  constexpr int64_t reach() const noexcept { return int64_t{dilation} * (size - 1); }
  /// How many of the cells of an input of `input` cells at least one of `count` windows reads. A stride beyond the
  /// window skips cells, and so may a dilation.
  int64_t cells_read(int64_t input, int64_t count) const noexcept {
    if (stride < 1 || dilation < 1) return 0;
    // Cell j of window i is also cell j - same of window i + apart, if there are both, so it is counted for the last
    // window that reads it.
    const int64_t common = std::gcd(stride, dilation), same = stride / common, apart = dilation / common;
    const int64_t shared = std::min<int64_t>(same, size), last = std::min(apart, count);
    return sums_inside(-int64_t{pad}, {stride, count}, {dilation, shared}, input) +
           sums_inside((count - last) * stride + shared * dilation - pad, {stride, last},
                       {dilation, size - shared}, input);
  }
};

/// A setting of both directions: "2", or "2x3" if they differ.
inline std::string pair_text(int rows, int columns) {
  return rows == columns ? std::to_string(rows) : std::to_string(rows) + "x" + std::to_string(columns);
}

}  // namespace lenslet
