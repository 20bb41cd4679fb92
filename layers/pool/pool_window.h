// Pool2dWindow: the positions of the windows of a pooling layer. It is separate from the layer, because a plan may fuse
// the pooling into the layer before it.
#pragma once

#include <cstdint>
#include <string>

#include "framework/base/error.h"
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
  bool ceil = false;  // also counts a last window that begins inside the padded input and ends past it

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
  /// "3x3 stride 2 pad 1", then what is unusual: " and 1x0 more after", " dilation 2", " ceil".
  std::string to_string() const {
    std::string text =
        concat(r, "x", s, " stride ", pair_text(stride_h, stride_w), " pad ", pair_text(pad_h, pad_w));
    if (more_pad_h != 0 || more_pad_w != 0)
      text += concat(" and ", more_pad_h, "x", more_pad_w, " more after");
    if (dilation_h != 1 || dilation_w != 1) text += concat(" dilation ", pair_text(dilation_h, dilation_w));
    if (ceil) text += " ceil";
    return text;
  }
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

/// The remedy of a refusal to fuse max pooling.
inline constexpr const char* kLeavePooling = ": leave the pooling a layer of its own";

/// No, with a reason, for a max pooling that no layer can fuse.
inline Support fusible(const Pool2dWindow& window) {
  if (window.plain()) return Support::yes();
  return Support::no(
      concat("only max pooling with even padding of up to half a window, without dilation and ceil, can be ",
             "fused, found ", window.to_string(), kLeavePooling));
}

}  // namespace lenslet
