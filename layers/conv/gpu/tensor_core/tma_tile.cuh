// Tiling of the convolution that TMA feeds: sizes of a problem and of a tile.
#pragma once

#include <cstdint>

#include "framework/instructions/barrier.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/math_mode.h"
#include "layers/conv/conv_problem.h"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/tensor_core/tma_kept_sizes.h"

namespace lenslet {

struct TmaShape {
  int k, plane, positions;  // K, P*Q, N*P*Q
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int s, runs;   // S; C in runs of kChannels
  int products;  // R*S*runs, of a tile
  int tiles;     // of the whole problem
  int parts;     // blocks of a cluster, each with a part of the products of the cluster's tile
  FastDivide by_filter_tiles, by_plane, by_q, by_runs, by_s;
  bool relu;
  TmaKeptSizes kept;  // of the kernel that keeps the filters
};

/// How a block stores a tile's sums.
enum class TmaStores {
  kFromRegisters,  // each lane those that it has
  kBoxes           // through shared memory, from where TMA copies boxes of 64 positions; only NHWC
};

/// The elements of x, y and the filters in memory.
enum class TmaElements { kFp32, kFp16, kBf16 };

// Numbers of a tile, by names for template arguments.
template <int kCount>
struct Warpgroups {
  static constexpr int kValue = kCount;
};
template <int kCount>
struct Positions {
  static constexpr int kValue = kCount;
};
template <int kCount>
struct Filters {
  static constexpr int kValue = kCount;
};
/// Runs of a step.
template <int kCount>
struct Runs {
  static constexpr int kValue = kCount;
};
template <int kCount>
struct Stages {
  static constexpr int kValue = kCount;
};
/// Blocks that a multiprocessor has at once.
template <int kCount>
struct Blocks {
  static constexpr int kValue = kCount;
};
/// The size of a swizzled row in shared memory.
template <int kCount>
struct RowBytes {
  static constexpr int kValue = kCount;
};

/// Warpgroups of 64 positions each x Filters filters, a product a step, Stages of them in shared memory. A block that
/// has a multiprocessor to itself and stores from registers may be one of a cluster whose blocks share a tile.
template <class RowBytes, class Warpgroups, class Filters, class Stages, class Blocks, TmaStores kHow>
struct TmaSizes {
  static constexpr int kGroups = Warpgroups::kValue, kPositions = kWarpgroupRows * kGroups,
                       kFilters = Filters::kValue;
  static constexpr int kStages = Stages::kValue, kBlocks = Blocks::kValue;
  static constexpr TmaStores kStores = kHow;
  static constexpr bool kSplits = kBlocks == 1 && kStores == TmaStores::kFromRegisters;
  static constexpr int kRowBytes = RowBytes::kValue;
  static constexpr int kInputBytes = kPositions * kRowBytes, kFilterBytes = kFilters * kRowBytes;
  static constexpr int kStageBytes = kInputBytes + kFilterBytes;
  // Floats between rows of sums in shared memory: 16 bytes more than a multiple of the banks avoid conflicts where a
  // part is read for NCHW; the writes of two rows share 12 banks.
  static constexpr int kSumPitch = kFilters + 4;
  static constexpr int kThreads = kWarpgroup * kGroups + 32;  // and a warp that copies
  static_assert(!kSplits || kPositions * kSumPitch * 4 <= kStages * kStageBytes,
                "the sums of a part take the place of its operands");
  static constexpr bool kKeepsFilters = false;
  /// Dynamic shared memory, with outputs of `element_bytes`: the ring, the boxes, the barriers of the ring.
  static constexpr int shared_bytes(int element_bytes) {
    return kStages * (kStageBytes + kBarrierPairBytes) + box_bytes(element_bytes) * kGroups;
  }
  /// The size of the boxes that a warpgroup stores.
  static constexpr int box_bytes(int element_bytes) {
    return kStores == TmaStores::kBoxes ? kWarpgroupRows * kFilters * element_bytes : 0;
  }
};

/// A tile of fp32 tensors, multiplied in tf32 or fp16.
template <MathMode kMode, TensorLayout kOrder, class Sizes>
struct TmaTile : Sizes {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = kOrder == TensorLayout::kNhwc, k16Bits = false, kBf16 = false;  // of y
  static constexpr int kChannels = Sizes::kRowBytes / (kMath == MathMode::kTf32 ? 4 : 2);       // of a run
  static constexpr int kSharedBytes = Sizes::shared_bytes(4), kBoxBytes = Sizes::box_bytes(4);
};

/// A tile of fp16 or bf16 tensors, NHWC, multiplied as they are.
template <TmaElements kElements, class Sizes>
struct Tma16BitTile : Sizes {
  static_assert(kElements != TmaElements::kFp32);
  static constexpr MathMode kMath = MathMode::kFp16;
  static constexpr bool kNhwc = true, k16Bits = true, kBf16 = kElements == TmaElements::kBf16;
  static constexpr int kChannels = Sizes::kRowBytes / 2;
  static constexpr int kSharedBytes = Sizes::shared_bytes(2), kBoxBytes = Sizes::box_bytes(2);
};

constexpr int kStagedBytes = 128;  // of a row that is stored at a time
constexpr int kWarpRows = 16;      // of a product of a warpgroup

/// A tile of the kernel whose blocks keep all filters of a tile in shared memory: two warpgroups with a tile each, in
/// turns, NHWC. With more than 64 positions the 64 filters are operand A: a product of 64 x 64 reads shared memory at
/// its whole rate, one of 64 x 192 at two thirds.
template <MathMode kMode, TmaElements kElements, class RowBytes, class Filters, class Positions, class Runs>
struct TmaKeptTile {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = true, k16Bits = kElements != TmaElements::kFp32,
                        kBf16 = kElements == TmaElements::kBf16, kKeepsFilters = true, kSplits = false;
  static constexpr int kGroups = 2, kPositions = Positions::kValue, kFilters = Filters::kValue, kBlocks = 1;
  static constexpr bool kFiltersAsRows = kPositions > kWarpgroupRows;
  static_assert(!kFiltersAsRows || (kFilters == kWarpgroupRows && !k16Bits));
  static constexpr int kRowBytes = RowBytes::kValue, kFilterBytes = kFilters * kRowBytes,
                       kRuns = Runs::kValue;
  static constexpr TmaStores kStores = TmaStores::kFromRegisters;  // by way of shared memory
  // A pass of a warp in shared memory: positions, and their pitch, without bank conflicts.
  static constexpr int kStagingRows = kFiltersAsRows ? 8 : kWarpRows;
  static constexpr int kStagingPitch =
      kFiltersAsRows ? kWarpRows * 4 + 16 : kStagedBytes + (k16Bits ? 16 : 32);
  static constexpr int kStagingBytes = kGroups * kWarpgroupWarps * kStagingRows * kStagingPitch;
  static constexpr int kSharedBytes = kStagingBytes + kFilters * 4;  // and tma_kept_bytes()
  static constexpr int kChannels = kRowBytes / (kMath == MathMode::kTf32 ? 4 : 2);
  static constexpr int kThreads = kWarpgroup * kGroups + 32;  // and a warp that copies
};

}  // namespace lenslet
