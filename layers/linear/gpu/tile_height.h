// The height of the tiles into which a linear kernel divides the samples.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "framework/base/integer_math.h"

namespace lenslet {

/// The cost of a tile, in samples: height * unit_samples, plus weight_samples for loading the weights.
struct TileWork {
  int unit_samples;    ///< samples in a unit of height
  int weight_samples;  ///< cost of loading the weights
};

/// The height with the least work for the busiest multiprocessor; of equal ones the first.
inline int choose_tile_height(std::initializer_list<int> heights, const TileWork& work, int64_t batch,
                              int64_t column_tiles, int multiprocessors) {
  int best = 1;
  int64_t min_cost = INT64_MAX;
  for (const int height : heights) {
    const int samples = height * work.unit_samples;
    const int64_t blocks = ceil_div(batch, samples) * column_tiles;
    const int64_t cost = ceil_div(blocks, multiprocessors) * (samples + work.weight_samples);
    if (cost < min_cost) {
      min_cost = cost;
      best = height;
    }
  }
  return best;
}

}  // namespace lenslet
