// Tiling of the convolution that TMA feeds: sizes of a problem and of a tile.
#pragma once

#include <cstdint>

#include "framework/instructions/barrier.cuh"
#include "framework/instructions/warp.cuh"
#include "framework/tensor/math_mode.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

/// How a block that keeps its filters streams inputs. A step is a row of the filters with all channels. It copies the
/// inputs of all taps of the row, one box for each run of channels: those of kPixels positions, and of the
/// (S - 1) * dilation columns to the right of the last one. So positions count the columns of the padded input; the
/// last (S - 1) * dilation sums of a row are dropped.
struct TmaKeptSizes {
  int filter_rows, filter_row_bytes;  // R; of a tile's filters for a row
  int q, columns;                     // Q, and with the dropped columns
  int box_bytes, copied_bytes;        // from box to box; of all boxes of a step, as copies count them
  int tap_bytes;                      // from the inputs of a tap to those of the next
  int stages, stage_bytes;            // of the ring of inputs
};

struct TmaShape {
  int k, plane, positions;  // K, P*Q, N*P*Q
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int s, channel_steps;  // S; C in steps of kChannels
  int steps;             // R*S*channel_steps
  int tiles;             // of the whole problem
  int parts;             // blocks of a cluster, each with a part of the steps of the cluster's tile
  FastDivide by_filter_tiles, by_plane, by_q, by_channel_steps, by_s;
  bool relu;
  TmaKeptSizes kept;  // of the form that keeps the filters
};

/// kGroups warpgroups of 64 positions each x kFilters filters, in steps of kRowBytes of channels, kStages of them in
/// shared memory; kBlocks blocks on a multiprocessor.
template <int kRow, int kWarpgroups, int kN, int kDepth, int kResident>
struct TmaSizes {
  static constexpr int kGroups = kWarpgroups, kPixels = kWarpgroupRows * kGroups, kFilters = kN;
  static constexpr int kStages = kDepth, kBlocks = kResident;
  static constexpr int kRowBytes = kRow;  // of a swizzle
  static constexpr int kInputBytes = kPixels * kRowBytes, kFilterBytes = kFilters * kRowBytes;
  static constexpr int kStageBytes = kInputBytes + kFilterBytes;
  // Floats between rows of sums in shared memory: 16 bytes more than a multiple of the banks avoid conflicts.
  static constexpr int kSumPitch = kFilters + 4;
  static constexpr int kThreads = kWarpgroup * kGroups + 32;  // and a warp that copies
  static constexpr int kSharedBytes = kStages * (kStageBytes + kBarrierPairBytes);
  static_assert(kPixels * kSumPitch * 4 <= kStages * kStageBytes,
                "the sums of a part take the place of its operands");
  static constexpr bool kKeepsFilters = false;
};

/// A tile of fp32 tensors, multiplied in tf32 or fp16.
template <MathMode kMode, bool kChannelsLast, int kWarpgroups, int kN, int kDepth, int kResident>
struct TmaTile : TmaSizes<128, kWarpgroups, kN, kDepth, kResident> {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = kChannelsLast, k16Bits = false, kBf16 = false;  // of y
  static constexpr int kChannels = 128 / (kMath == MathMode::kTf32 ? 4 : 2);    // of a step
};

/// A tile of fp16 or bf16 tensors, NHWC, multiplied as they are.
template <bool kOfBf16, int kRow, int kWarpgroups, int kN, int kDepth, int kResident>
struct Tma16BitTile : TmaSizes<kRow, kWarpgroups, kN, kDepth, kResident> {
  static constexpr MathMode kMath = MathMode::kFp16;
  static constexpr bool kNhwc = true, k16Bits = true, kBf16 = kOfBf16;
  static constexpr int kChannels = kRow / 2;
};

constexpr int kStagedBytes = 128;  // of a row that is stored at a time
constexpr int kWarpRows = 16;      // of a product of a warpgroup

/// A tile of the form whose blocks keep all kN filters of a tile in shared memory: two warpgroups with a tile of 64
/// positions each, in turns, NHWC. kOf16Bits: tensors of 16 bits.
template <MathMode kMode, bool kOf16Bits, bool kOfBf16, int kRow, int kN>
struct TmaKeptTile {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = true, k16Bits = kOf16Bits, kBf16 = kOfBf16, kKeepsFilters = true;
  static constexpr int kGroups = 2, kPixels = kWarpgroupRows, kFilters = kN, kBlocks = 1;
  static constexpr int kRowBytes = kRow, kFilterBytes = kFilters * kRowBytes;
  // Rows of a pass in shared memory: pitches without bank conflicts.
  static constexpr int kStagingPitch = kStagedBytes + (k16Bits ? 16 : 32);
  static constexpr int kStagingBytes = kGroups * kWarpgroupRows * kStagingPitch;
  static constexpr int kSharedBytes = kStagingBytes + kFilters * 4;  // and tma_kept_bytes()
  static constexpr int kChannels = kRow / (kMath == MathMode::kTf32 ? 4 : 2);
  static constexpr int kThreads = kWarpgroup * kGroups + 32;  // and a warp that copies
};

}  // namespace lenslet
