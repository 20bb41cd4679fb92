// The choice of a tile for the convolution that TMA feeds (tensor_core/tma_kernel.cuh, tma_kept.cuh): the candidate
// with the least estimated time. No CUDA type appears here, so that the choice can be tested for GPUs that are not
// there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_limits.h"
#include "layers/conv/conv_problem.h"
#include "layers/conv/gpu/tensor_core/tma_kept_sizes.h"

namespace lenslet {

constexpr int kTmaPieceBytes = 16;  // of a row in shared memory
constexpr int kTmaMaxCorner = 127;  // of TMA: a box reaches as far to the right of the input as its padding

/// Elements of the operands in a piece.
inline int tma_piece_elements(MathMode math) { return math == MathMode::kTf32 ? 4 : 8; }

/// Times by which a variant that streams its filters is chosen, in microseconds.
struct TmaTimes {
  double product;       // of a product, where the rate of a multiprocessor binds
  double tile;          // of a tile besides
  double start;         // of a launch besides its tiles
  double lone_product;  // of a product of a multiprocessor's only tile
  double lone_start;    // of a launch of such tiles besides their products
};

/// Times by which a variant that keeps its filters is chosen, in microseconds.
struct TmaKeptTimes {
  double product;     // of a product
  double tile;        // of a tile besides its products and boxes
  double start;       // of a launch besides its tiles
  double box;         // of a box of inputs, of a run
  double lone_start;  // of a launch with a tile for each multiprocessor, besides that tile
};

/// A kernel as the choice sees it. Several variants may belong to one backend; each is one instantiation for each type
/// and layout.
struct TmaVariant {
  int positions, filters;     // of a tile
  int blocks;                 // on a multiprocessor
  int threads, shared_bytes;  // of a block; kept filters: besides tma_kept_bytes()
  int row_bytes;              // of a run in shared memory
  int output_bytes;           // of an element of y
  bool splits;                // a tile may be split over a cluster
  bool stores_pieces;         // filters of y come in whole pieces of 16 bytes
  int kept_runs;              // of a step of blocks that keep their filters; 0: they keep none
  TmaTimes us;                // by which it is chosen, if it keeps no filters
  TmaKeptTimes kept_us;       // by which it is chosen, if it keeps them
  /// Whether a block keeps its filters in shared memory; else it streams them.
  bool keeps_filters() const { return kept_runs > 0; }
};

/// A variant, and how it is launched.
struct TmaChoice {
  int variant = -1;           // its place in the list; none supports the problem: -1
  double time_us = INFINITY;  // estimated
  int parts = 1;              // blocks of a cluster, which share a tile
  int columns = 0;            // of a row of positions
  int64_t clusters = 0;       // of the launch
  int64_t shared_bytes = 0;   // of a block
  TmaKeptSizes kept = {};     // of a variant that keeps the filters
};

/// Tiles along the positions, in rows of so many columns.
inline int64_t tma_position_tiles(const Conv2dProblem& problem, const TmaVariant& variant, int columns) {
  return ceil_div(int64_t{problem.n} * problem.p() * columns, variant.positions);
}
/// Tiles of the whole problem.
inline int64_t tma_tiles(const Conv2dProblem& problem, const TmaVariant& variant, int columns) {
  return tma_position_tiles(problem, variant, columns) * ceil_div(problem.k, variant.filters);
}
/// Channels of a run.
inline int tma_run_channels(const TmaVariant& variant, MathMode math) {
  return variant.row_bytes / kTmaPieceBytes * tma_piece_elements(math);
}
/// Runs of all channels.
inline int tma_runs(const Conv2dProblem& problem, const TmaVariant& variant, MathMode math) {
  return static_cast<int>(ceil_div(problem.c, tma_run_channels(variant, math)));
}
/// Products of a tile.
inline int tma_products(const Conv2dProblem& problem, const TmaVariant& variant, MathMode math) {
  return problem.r * problem.s * tma_runs(problem, variant, math);
}
/// Whether a variant can store y.
inline bool tma_stores(const Conv2dProblem& problem, const TmaVariant& variant) {
  return !variant.stores_pieces || problem.k * int64_t{variant.output_bytes} % kTmaPieceBytes == 0;
}

/// A problem in tiles, each a sum of some products in some parts.
struct TmaSplit {
  int64_t tiles;  // of the problem
  int products;   // of a tile
  int parts;      // of a tile, a block each
};

/// Estimated time of a variant that streams its filters: a multiprocessor with many tiles is bound by the rate of
/// their products, one with few by the latency of a product. The parts of a split tile are added up.
inline double tma_estimated_us(const TmaSplit& split, const TmaVariant& variant, int multiprocessors) {
  constexpr double kSumUs = 0.75, kSumUsOfPart = 0.035;
  const int64_t tiles = split.tiles;
  // A launch that begins before the last one ends puts its blocks where there is room: two on one multiprocessor, none
  // on another, if both have room for two.
  const bool crowds = tiles > multiprocessors / 2 && tiles < int64_t{multiprocessors} * variant.blocks;
  const auto own_tiles =
      static_cast<double>(crowds ? variant.blocks : ceil_div(tiles * split.parts, multiprocessors));
  const auto own_products = static_cast<double>(ceil_div(split.products, split.parts));
  const double many = variant.us.start + own_tiles * (own_products * variant.us.product + variant.us.tile);
  const double few = variant.us.lone_start + own_products * variant.us.lone_product;
  return std::max(many, few) + (split.parts > 1 ? kSumUs + split.parts * kSumUsOfPart : 0);
}

/// A variant that streams its filters, in the parts with the least estimated time.
inline TmaChoice tma_choose_parts(const Conv2dProblem& problem, const TmaVariant& variant, MathMode math,
                                  int multiprocessors) {
  TmaChoice best;
  if (!tma_stores(problem, variant)) return best;
  const int products = tma_products(problem, variant, math), columns = problem.q();
  const int64_t tiles = tma_tiles(problem, variant, columns);
  // All clusters run at once. The blocks of one are on the multiprocessors of one part of the GPU (GPC), which are no
  // multiple of four everywhere.
  const auto fits = [&](int parts) {
    return tiles * parts <= (parts > 2 ? multiprocessors - multiprocessors / 8 : multiprocessors);
  };
  const int max_parts = variant.splits ? std::min(GpuLimits::kPortableCluster, products) : 1;
  for (int parts = 1; parts == 1 || (parts <= max_parts && fits(parts)); parts *= 2) {
    const double time_us = tma_estimated_us({tiles, products, parts}, variant, multiprocessors);
    if (time_us >= best.time_us) continue;
    const int64_t resident = int64_t{multiprocessors} * variant.blocks;
    best.time_us = time_us;
    best.parts = parts;
    best.columns = columns;
    best.clusters = parts > 1 ? tiles : std::min(tiles, resident);
    best.shared_bytes = variant.shared_bytes;
  }
  return best;
}

/// The sizes of a variant that keeps the filters. There are no stages if they do not fit, or if a step's runs do not
/// divide those of all channels.
inline TmaKeptSizes tma_kept_sizes(const Conv2dProblem& problem, const TmaVariant& variant, MathMode math) {
  constexpr int kSwizzledBytes = 1024, kMinStages = 3, kMaxStages = 8;
  const int reach = (problem.s - 1) * problem.dilation_w,
            copied = (variant.positions + reach) * variant.row_bytes;
  const int runs = tma_runs(problem, variant, math);
  TmaKeptSizes sizes{};
  if (runs % variant.kept_runs != 0) return sizes;
  sizes.row_steps = runs / variant.kept_runs;
  sizes.q = problem.q();
  sizes.columns = sizes.q + reach;
  sizes.box_bytes = static_cast<int>(round_up(copied, kSwizzledBytes));
  sizes.tap_bytes = problem.dilation_w * variant.row_bytes;
  sizes.stage_bytes = variant.kept_runs * sizes.box_bytes;
  sizes.copied_bytes = variant.kept_runs * copied;
  const int64_t products = int64_t{problem.s} * variant.kept_runs,
                steps = int64_t{problem.r} * sizes.row_steps;
  const int64_t filter_bytes = products * variant.filters * variant.row_bytes;
  if (steps * filter_bytes + sizes.stage_bytes > GpuLimits::kHopperSharedBytes) return sizes;
  sizes.steps = static_cast<int>(steps);
  sizes.step_filter_bytes = static_cast<int>(filter_bytes);
  const int64_t left = GpuLimits::kHopperSharedBytes - variant.shared_bytes - tma_kept_bytes(sizes);
  const int64_t stages = std::min<int64_t>(left / (sizes.stage_bytes + 2 * kTmaBarrierBytes), kMaxStages);
  if (stages >= kMinStages) sizes.stages = static_cast<int>(stages);
  return sizes;
}

/// A variant that keeps the filters, with its estimated time: infinite for problems that it does not support.
inline TmaChoice tma_choose_kept(const Conv2dProblem& problem, const TmaVariant& variant, MathMode math,
                                 int multiprocessors) {
  TmaChoice choice;
  const bool moves_by_one = problem.s == 1 || problem.stride_w == 1;  // from a position to the next
  if (!moves_by_one || problem.pad_w > kTmaMaxCorner || !tma_stores(problem, variant)) return choice;
  const TmaKeptSizes sizes = tma_kept_sizes(problem, variant, math);
  if (sizes.stages == 0) return choice;
  const int64_t positions = int64_t{problem.n} * problem.p() * sizes.columns;
  const int64_t filter_tiles = ceil_div(problem.k, variant.filters),
                position_tiles = tma_position_tiles(problem, variant, sizes.columns);
  const int64_t blocks =
      std::min(position_tiles, multiprocessors / filter_tiles);  // for each tile of filters
  if (blocks == 0 || positions > GpuLimits::kElements) return choice;
  const auto tiles = static_cast<double>(ceil_div(position_tiles, blocks));
  const TmaKeptTimes& us = variant.kept_us;
  const double tile_us = tma_products(problem, variant, math) * us.product +
                         problem.r * tma_runs(problem, variant, math) * us.box + us.tile;
  choice.time_us = std::max(us.start + tiles * tile_us, us.lone_start + tile_us);
  choice.columns = sizes.columns;
  choice.clusters = blocks * filter_tiles;
  choice.shared_bytes = variant.shared_bytes + tma_kept_bytes(sizes);
  choice.kept = sizes;
  return choice;
}

/// The variant with the least estimated time, of both kernels. Null entries are variants that have no kernel for the
/// problem.
inline TmaChoice tma_choose(const Conv2dProblem& problem, MathMode math, int multiprocessors,
                            const std::vector<const TmaVariant*>& variants) {
  TmaChoice best;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i]) continue;
    const auto choose_launch = variants[i]->keeps_filters() ? tma_choose_kept : tma_choose_parts;
    const TmaChoice choice = choose_launch(problem, *variants[i], math, multiprocessors);
    if (choice.time_us >= best.time_us) continue;
    best = choice;
    best.variant = static_cast<int>(i);
  }
  return best;
}

}  // namespace lenslet
