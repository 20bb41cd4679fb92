// Pool2dWindow: the positions of the windows of a pooling layer. It is separate from the layer, because a plan may fuse
// the pooling into the layer before it.
#pragma once

#include <cstdint>

namespace lenslet {

/// Windows of kernel_h x kernel_w values, a stride apart, the first one at row -pad_h and column -pad_w. Only windows
/// that lie completely inside the padded input count (PyTorch's ceil_mode=False).
struct Pool2dWindow {
  int kernel_h = 2, kernel_w = 2;  // size of a window
  int stride_h = 2, stride_w = 2;  // distance between windows
  int pad_h = 0, pad_w = 0;        // on both sides

  /// The same in both directions.
  static Pool2dWindow square(int kernel, int stride, int pad = 0) {
    return {kernel, kernel, stride, stride, pad, pad};
  }
  /// Number of windows over h rows; 0 if none fits.
  int64_t rows(int64_t h) const noexcept { return windows(h + 2 * int64_t{pad_h} - kernel_h, stride_h); }
  /// Number of windows over w columns; 0 if none fits.
  int64_t columns(int64_t w) const noexcept { return windows(w + 2 * int64_t{pad_w} - kernel_w, stride_w); }

 private:
  static int64_t windows(int64_t room, int64_t stride) noexcept { return room < 0 ? 0 : room / stride + 1; }
};

}  // namespace lenslet
