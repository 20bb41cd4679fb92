// How Winograd's convolution on the CPU divides a problem into blocks of tiles and their memory. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "layers/conv/conv_problem.h"
#include "layers/conv/cpu/winograd/transforms.h"
#include "layers/gemm/cpu/tile_kernel.h"

namespace lenslet::winograd_cpu {

// The register tile of eight filters is three vectors of sixteen wide.
constexpr int64_t kBlockTiles = 48;
// Transformed inputs of a block stay in the L2 cache of a core, next to the products of eight filters.
constexpr int64_t kInputBytes = 1024 * 1024;
constexpr int64_t kMostChannels = 8192;  // of a group: 18 MiB for the narrowest block
// Of the direct sum; below it a second thread costs more than it saves: one that sleeps, and one that is awake.
constexpr double kFlopsPerThread = 3e6, kFlopsPerAwakeThread = 0.4e6;
// Positions lie this much further apart than the tiles need, so that powers of two do not meet in the same cache sets.
constexpr int64_t kGap = 16;

/// How a problem is divided among `slots` threads.
struct Blocks {
  explicit Blocks(const Conv2dProblem& problem)
      : rows(ceil_div(problem.p(), kOut)),
        columns(ceil_div(problem.q(), kOut)),
        tiles(problem.n * rows * columns),
        channels(problem.c / problem.groups),
        filters(problem.k / problem.groups) {
    const int64_t lanes = tile_kernels().vector_floats;
    slots = std::clamp<int64_t>(static_cast<int64_t>(std::min(problem.flops() / kFlopsPerAwakeThread, 1e6)),
                                1, num_threads());
    const int64_t fit = kInputBytes / (kPositions * channels * static_cast<int64_t>(sizeof(float)));
    width = std::clamp(fit / lanes * lanes, lanes, kBlockTiles);
    const int64_t equal = round_up(ceil_div(tiles, width), slots);  // blocks of equal width for all threads
    width = std::min(width, round_up(ceil_div(tiles, equal), lanes));
    count = ceil_div(tiles, width);
    const int64_t filter_blocks = ceil_div(filters, TileKernels::kMaxRows);
    if (count * problem.groups < slots)
      parts = std::min(ceil_div(slots, count * problem.groups), filter_blocks);
    part_filters = ceil_div(filter_blocks, parts) * TileKernels::kMaxRows;
    parts = ceil_div(filters, part_filters);
    items = problem.groups * count * parts;
    slots = std::min(slots, items);
    light = problem.flops() < kFlopsPerThread * static_cast<double>(slots);
  }
  int64_t position_step() const { return channels * width + kGap; }
  int64_t product_step() const { return TileKernels::kMaxRows * width + kGap; }
  /// Of one thread: the inputs' rows twice, the transformed inputs, products, and the outputs' rows.
  int64_t floats() const {
    return round_up(kPositions * (position_step() + product_step()) + (2 * kIn + kOut) * kOut * width, kGap);
  }

  int64_t rows, columns, tiles;  // of an image; of all images
  int64_t channels, filters;     // of a group
  int64_t slots = 1;             // threads
  bool light = false;            // too little work to wake them
  int64_t width = 0;             // tiles of a block: whole vectors
  int64_t count = 0;             // blocks
  int64_t parts = 1;             // of the filters of a block, where there are fewer blocks than threads
  int64_t part_filters = 0;      // whole row blocks
  int64_t items = 0;
};

}  // namespace lenslet::winograd_cpu
