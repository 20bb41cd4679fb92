// How Winograd's convolution on the CPU divides a problem into blocks of tiles and filters, and their memory. Internal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "layers/conv/conv_problem.h"
#include "layers/conv/cpu/winograd/steps.h"

namespace lenslet::winograd_cpu {

// Transformed inputs of a block stay in the L2 cache of a core, next to the products of a block of filters.
constexpr int64_t kBlockTiles = 48, kInputBytes = 512 * 1024;
constexpr int64_t kMaxChannels = 8192;  // of a group: 1.2 MB for a single tile
// Fewer tiles of a thread do not fill the registers: threads then share the filters.
constexpr int64_t kFewTiles = 8;
// Operations of the direct sum. Below them a second thread, one that sleeps or one that is awake, costs more than it
// saves. F(4x4, 3x3) multiplies a quarter as often, and its transforms take a part of that gain: 3, not 4. Both values
// were chosen by hand: no file compares others.
constexpr double kFlopsPerThread = 3 * kFlopsPerWokenThread, kFlopsPerAwakeThread = 0.4e6;
// Padding between positions, in floats: at distances of powers of two they would share cache sets.
constexpr int64_t kGap = 16;

/// How a problem is divided among `slots` threads. A block is some rows of tiles, also of several images, or a piece of
/// one row.
struct Blocks {
  explicit Blocks(const Conv2dProblem& problem)
      : rows(ceil_div(problem.p(), kOut)),
        columns(ceil_div(problem.q(), kOut)),
        strips(problem.n * rows),
        channels(problem.c / problem.groups),
        filters(problem.k / problem.groups),
        lanes(steps().lanes),
        stored_channels(round_up(channels, lanes)) {
    const double threads = std::min(problem.flops() / kFlopsPerAwakeThread, kThreadsBound);
    slots = std::clamp<int64_t>(static_cast<int64_t>(threads), 1, num_threads());
    const int64_t fit = kInputBytes / (kPositions * stored_channels * static_cast<int64_t>(sizeof(float)));
    const int64_t max_tiles = std::clamp<int64_t>(fit, 1, kBlockTiles);
    pieces = ceil_div(columns, max_tiles);
    width = ceil_div(columns, pieces);
    pieces = ceil_div(columns, width);
    height = std::clamp<int64_t>(max_tiles / width, 1, strips);
    // Blocks of equal height for all threads.
    if (strips * columns >= kFewTiles * slots)
      height = ceil_div(strips, std::min(round_up(ceil_div(strips, height), slots), strips));
    count = pieces * ceil_div(strips, height);
    const int64_t vectors = ceil_div(filters, lanes);
    if (count * problem.groups < slots) parts = std::min(ceil_div(slots, count * problem.groups), vectors);
    const int64_t part_vectors = ceil_div(vectors, parts);
    parts = ceil_div(vectors, part_vectors);
    // Parts of whole filter blocks of equal width.
    const int64_t part_blocks = ceil_div(part_vectors, steps().max_vectors);
    block_filters = ceil_div(part_vectors, part_blocks) * lanes;
    part_filters = part_blocks * block_filters;
    parts = ceil_div(filters, part_filters);
    items = problem.groups * count * parts;
    slots = std::min(slots, items);
    light = problem.flops() < kFlopsPerThread * static_cast<double>(slots);
  }
  int64_t tiles() const { return height * width; }  // of a block
  int64_t input_step() const { return tiles() * stored_channels + kGap; }
  int64_t product_step() const { return tiles() * block_filters + kGap; }
  /// The inputs of a vector of channels: the most rows of tiles of one image, with the rows around them.
  int64_t padded_floats() const {
    return (std::min(height, rows) * kOut + kIn - kOut) * (width * kOut + kIn - kOut) * lanes;
  }
  /// The scratch memory of a thread: the transformed inputs, the products, and the inputs of a vector of channels.
  int64_t floats() const {
    return round_up(kPositions * (input_step() + product_step()) + padded_floats(), kGap);
  }

  int64_t rows, columns, strips;   // of tiles: of an image, and of all images
  int64_t channels, filters;       // of a group
  int64_t lanes, stored_channels;  // of a vector; whole vectors of channels
  int64_t slots = 1;               // threads
  bool light = false;              // too little work to wake them
  int64_t pieces = 1;              // of a row of tiles
  int64_t width = 0, height = 0;   // tiles of a block
  int64_t count = 0;               // blocks
  int64_t parts = 1;               // of the filters of a block, where there are fewer blocks than threads
  int64_t block_filters = 0;       // whole vectors, for which products are computed at a time
  int64_t part_filters = 0;        // whole blocks
  int64_t items = 0;
};

}  // namespace lenslet::winograd_cpu
