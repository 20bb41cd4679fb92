// LinearTiledShape: what linear_tiled_kernel takes beside its arrays.
#pragma once

#include <cstdint>

namespace lenslet {

/// Sizes and flags of a launch of linear_tiled_kernel; its arrays are separate arguments.
struct LinearTiledShape {
  int64_t batch;  ///< samples
  int inputs;     ///< of a sample
  int outputs;    ///< of a sample
  int padded;     ///< outputs, up to whole tiles
  int steps;      ///< along the inputs
  bool relu;      ///< negative outputs become 0
};

}  // namespace lenslet
