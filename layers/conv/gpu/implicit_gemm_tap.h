// Internal: an entry of the table by which kernels gather the im2col matrix that they never store.
#pragma once

namespace lenslet {

/// One row of the im2col matrix: channel c and tap (r, s) of the filter. 16 bytes, read at once. Rows added
/// to fill the last step read as zero: their offset is -1, their dh kNowhere.
struct alignas(16) ImplicitGemmTap {
  static constexpr int kNowhere = 1 << 30;  // outside every image
  int offset;                               // c*H*W + r*dilation_h*W + s*dilation_w, from the window's corner
  int dh, dw;                               // r*dilation_h, s*dilation_w
};

}  // namespace lenslet
