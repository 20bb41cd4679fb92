// Internal: the window of a convolution or pooling of an ONNX file, in two dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "models/onnx/read/model.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {

using Sizes = std::vector<int64_t>;

/// The window of a convolution or pooling in two dimensions, height first.
struct Window {
  Shape planes;                    // its input as [N, C, H, W]
  Sizes size, strides, dilations;  // two each; `size` of the window itself
  Sizes pads;                      // top, left, bottom, right
};

/// The window of a node over `x` [N, C, sizes], of this size. [N, C, L] is read as [N, C, 1, L]; of three dimensions
/// the first or the last two may have windows of 1, and join their neighbour. Throws Unsupported.
Window window_of(const Node& node, const Shape& x, const Sizes& size);

/// [N, C, L] is computed as [N, C, 1, L].
inline Shape as_planes(const Shape& x) { return x.rank() == 3 ? Shape{x[0], x[1], 1, x[2]} : x; }

/// Every size of a window was checked when shapes were inferred: at most 2^20.
inline int to_int(int64_t size) { return static_cast<int>(size); }

}  // namespace lenslet::onnx
