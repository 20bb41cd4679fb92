// The tile of linear_tiled_kernel: its sizes, the choice of its width, and what a launch takes beside its arrays.
#pragma once

#include <cstdint>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_limits.h"

namespace lenslet {

/// Sizes and flags of a launch of linear_tiled_kernel; its arrays are separate arguments.
struct LinearTiledShape {
  int64_t batch;  ///< samples
  int inputs;     ///< of a sample
  int outputs;    ///< of a sample
  int steps;      ///< stages of kDepth inputs
  bool relu;      ///< negative outputs become 0
  bool wide;      ///< inputs is a multiple of 4 and x is aligned to 16 bytes

  static constexpr int kWarps = 4;                              // of a block, one for each scheduler
  static constexpr int kRowLanes = 4;                           // of a warp, along samples
  static constexpr int kColumnLanes = 8;                        // of a warp, along outputs
  static constexpr int kLaneRows = 5;                           // samples of a lane
  static constexpr int kRows = kWarps * kRowLanes * kLaneRows;  // samples of a block
  static constexpr int kDepth = 32;                             // inputs of a stage
};

/// The outputs that a lane of linear_tiled_kernel computes of each of its samples, the most first: one kernel for each.
inline constexpr int kLaneOutputs[] = {8, 5, 4, 2};

/// The entry of kLaneOutputs with the least work for the busiest multiprocessor; of equal ones the first. Bits of a sum
/// do not depend on it.
inline int choose_lane_outputs(int64_t batch, int64_t outputs, int multiprocessors) {
  constexpr int kReading = 8;  // the cost of a tile beside its products, in columns; chosen by hand
  int best = kLaneOutputs[0];
  int64_t min_cost = INT64_MAX;
  for (const int lane_outputs : kLaneOutputs) {
    const int columns = LinearTiledShape::kColumnLanes * lane_outputs;
    const int64_t tiles = ceil_div(outputs, columns);
    const int64_t blocks = ceil_div(batch, LinearTiledShape::kRows) * tiles;
    const int64_t cost = ceil_div(blocks, multiprocessors) * (columns + kReading);
    if (tiles <= GpuLimits::kGridYZ && cost < min_cost) {
      min_cost = cost;
      best = lane_outputs;
    }
  }
  return best;
}

}  // namespace lenslet
