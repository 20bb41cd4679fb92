// WindowDirection: one direction, rows or columns, of the windows of a convolution or a pooling.
#pragma once

#include <cstdint>
#include <string>

namespace lenslet {

struct WindowDirection {
  int size = 1;      // cells of a window
  int stride = 1;    // from one window to the next
  int pad = 0;       // cells before the input, and as many after it
  int more_pad = 0;  // cells after it besides; negative for fewer
  int dilation = 1;  // from one cell of a window to the next

  /// From the first cell of a window to the last.
  constexpr int64_t reach() const noexcept { return int64_t{dilation} * (size - 1); }
};

/// A setting of both directions: "2", or "2x3" if they differ.
inline std::string pair_text(int rows, int columns) {
  return rows == columns ? std::to_string(rows) : std::to_string(rows) + "x" + std::to_string(columns);
}

}  // namespace lenslet
