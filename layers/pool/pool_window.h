// Pool2dWindow: the positions of the windows of a pooling layer. It is separate from the layer, because a plan may fuse
// the pooling into the layer before it.
#pragma once

#include <cstdint>

#include "layers/window_direction.h"

namespace lenslet {

/// Windows of r x s values, a stride apart, the first one at row -pad_h and column -pad_w. Only windows
/// that lie completely inside the padded input count (PyTorch's ceil_mode=False), unless `ceil` is set.
struct Pool2dWindow {
  int r = 2, s = 2;                    // size of a window
  int stride_h = 2, stride_w = 2;      // distance between windows
  int pad_h = 0, pad_w = 0;            // on both sides
  int more_pad_h = 0, more_pad_w = 0;  // on the lower and right side besides; negative for less
  int dilation_h = 1, dilation_w = 1;  // distance between the values of a window
  bool ceil = false;  // also a last window that ends past the padding, if it begins before it

  /// A window with the same sizes in both directions.
  static Pool2dWindow square(int size, int stride, int pad = 0) {
    return {size, size, stride, stride, pad, pad};
  }
  /// Whether the padding is even and at most half the window, and there is neither dilation nor `ceil`: what layers can
  /// fuse.
  bool plain() const noexcept {
    return more_pad_h == 0 && more_pad_w == 0 && dilation_h == 1 && dilation_w == 1 && !ceil &&
           pad_h <= r / 2 && pad_w <= s / 2;
  }
  /// Whether they are adjacent 2x2 windows without overlap or padding.
  bool is_halving() const noexcept {
    return r == 2 && s == 2 && stride_h == 2 && stride_w == 2 && pad_h == 0 && pad_w == 0 && plain();
  }
  /// Number of windows over h rows; 0 if none fits.
  int64_t rows(int64_t h) const noexcept { return windows(h, down()); }
  /// Number of windows over w columns; 0 if none fits.
  int64_t columns(int64_t w) const noexcept { return windows(w, across()); }
  /// From row to row.
  WindowDirection down() const noexcept { return {r, stride_h, pad_h, more_pad_h, dilation_h}; }
  /// From column to column.
  WindowDirection across() const noexcept { return {s, stride_w, pad_w, more_pad_w, dilation_w}; }

 private:
  int64_t windows(int64_t size, const WindowDirection& v) const noexcept {
    const int64_t room = size + 2 * int64_t{v.pad} + v.more_pad - v.reach() - 1;
    if (room < 0) return ceil && room > -v.stride ? 1 : 0;
    const int64_t count = room / v.stride + 1;
    return ceil && room % v.stride != 0 && count * v.stride < size + v.pad ? count + 1 : count;
  }
};

}  // namespace lenslet
