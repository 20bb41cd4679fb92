// What linear_tiled_kernel takes beside its arrays.
#pragma once

#include <cstdint>

namespace lenslet {

struct LinearTiledShape {
  int64_t batch;
  int inputs, outputs;
  int padded;  // outputs, up to whole tiles
  int steps;   // along the inputs
  bool relu;
};

}  // namespace lenslet
