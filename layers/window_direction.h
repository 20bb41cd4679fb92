// WindowDirection: one direction, rows or columns, of the windows of a convolution or a pooling.
#pragma once

#include <cstdint>

namespace lenslet {

struct WindowDirection {
  int kernel = 1;    // cells of a window
  int stride = 1;    // from one window to the next
  int pad = 0;       // cells before the input, and as many behind it
  int more_pad = 0;  // cells behind it besides; negative for fewer
  int dilation = 1;  // from one cell of a window to the next

  /// From the first cell of a window to the last.
  constexpr int64_t reach() const noexcept { return int64_t{dilation} * (kernel - 1); }
};

}  // namespace lenslet
