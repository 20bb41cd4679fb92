// Pool2dWindow: where the windows of a pooling lie. A struct of its own, because a plan may fuse a pooling into a layer
// that knows nothing else of it.
#pragma once

#include <cstdint>

namespace lenslet {

/// Windows of kernel_h x kernel_w values, a stride apart, the first one at row -pad_h and column -pad_w. Only those that
/// lie wholly inside the padded input count (PyTorch's ceil_mode off).
struct Pool2dWindow {
  int kernel_h = 2, kernel_w = 2;  // extent
  int stride_h = 2, stride_w = 2;  // from one window to the next
  int pad_h = 0, pad_w = 0;        // on either side

  /// The same in both directions.
  static Pool2dWindow square(int kernel, int stride, int pad = 0) {
    return {kernel, kernel, stride, stride, pad, pad};
  }
  /// Windows over h rows, over w columns; 0 where not even one fits.
  int64_t rows(int64_t h) const noexcept { return windows(h + 2 * int64_t{pad_h} - kernel_h, stride_h); }
  /// As rows(), over w columns.
  int64_t columns(int64_t w) const noexcept { return windows(w + 2 * int64_t{pad_w} - kernel_w, stride_w); }

 private:
  static int64_t windows(int64_t room, int64_t stride) noexcept { return room < 0 ? 0 : room / stride + 1; }
};

}  // namespace lenslet
