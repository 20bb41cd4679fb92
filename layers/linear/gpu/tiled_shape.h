// The sizes of a launch of linear_tiled_kernel.
#pragma once

#include <cstdint>

namespace lenslet {

/// What linear_tiled_kernel takes beside its arrays.
struct LinearTiledShape {
  int64_t batch;  ///< samples
  int inputs;     ///< of a sample
  int outputs;    ///< of a sample
  int padded;     ///< outputs, up to whole tiles
  int steps;      ///< along the inputs
  bool relu;      ///< negative outputs become 0
};

}  // namespace lenslet
