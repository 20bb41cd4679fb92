// Internal: the split of an image among the blocks of a cluster, and the layout of the small kernels' packed
// parameters.
//
// Each block gets some of conv2's 4 x 4 pooled positions, with their windows of h1 (6 rows and columns per position, 2
// more for a neighbour) and of the image (16, and 4 more). Where windows of h1 overlap, both neighbours compute the
// values, which is faster than exchanging them. After conv2 a block has a part of fc1's inputs, and computes its part
// of every sum.
#pragma once

#include "framework/base/host_device.h"
#include "models/lenet5_sizes.h"

namespace lenslet::cluster_lenet5 {

inline constexpr int kThreads = 256, kWarps = kThreads / 32;  // 8 warps may have 255 registers per thread
inline constexpr int kSide = kLenet5Side;
inline constexpr int kMaps1 = kLenet5Maps1, kMaps2 = kLenet5Maps2;
inline constexpr int kTaps = kLenet5Filter * kLenet5Filter;
inline constexpr int kF1 = kLenet5Hidden1, kF2 = kLenet5Hidden2;
inline constexpr int kTapGroups = 6;        // of four taps, and one tap more
inline constexpr int kLaneGroups = 32 * 4;  // floats that a warp reads at once: a group of four each lane
inline constexpr int kFilterStride = 4 * kTapGroups + 4;  // floats of a conv1 filter, the last three unused

/// Positions in Z order: a block's positions are contiguous for any number of blocks.
constexpr LENSLET_HOST_DEVICE int position_row(int position) {
  return (position >> 3) * 2 + ((position >> 1) & 1);
}
constexpr LENSLET_HOST_DEVICE int position_column(int position) {
  return ((position >> 2) & 1) * 2 + (position & 1);
}

template <int kClusterBlocks>
struct Tile {
  static constexpr int kBlocks = kClusterBlocks;  // 2, 4, 8 or 16
  static constexpr int kPositions = 16 / kBlocks;
  static constexpr int kPositionRows = kBlocks >= 8 ? 1 : 2;
  static constexpr int kPositionColumns = kPositions / kPositionRows;
  static constexpr int kRows1 = 2 * kPositionRows + 4, kColumns1 = 2 * kPositionColumns + 4;  // of h1
  static constexpr int kArea1 = kRows1 * kColumns1;
  static constexpr int kImageRows = 2 * kRows1 + 4, kImageColumns = 2 * kColumns1 + 4;
  // Two image rows on lie as many banks on as a row of pooled positions reads words: no conflicts.
  static constexpr int kImagePitch = kColumns1 + 16;
  // Two words more than whole rows of banks, so that the six planes a warp reads lie in different ones.
  static constexpr int kPlane1 = kArea1 + 2;

  // conv1: warps 0..3; a thread takes one pooled position for kConv1Maps maps.
  static constexpr int kConv1Warps = 4;
  static constexpr int kConv1Maps = kBlocks == 16 ? 2 : 3;
  static constexpr int kMapThreads = kArea1 < 64 ? kArea1 : 64;
  // conv2: a lane takes one pooled position of one input map for kConv2Maps maps; eight lanes, two of them idle, share
  // a map, and kConv2Shares warps a position.
  static constexpr int kConv2Maps = kBlocks == 16 ? 1 : 2;
  static constexpr int kConv2FirstWarp = kBlocks >= 8 ? 4 : 0;
  static constexpr int kConv2Warps = kWarps - kConv2FirstWarp;
  static constexpr int kConv2Shares = 4 / kConv2Maps;
  static constexpr int kConv2Rounds = kPositions * kConv2Shares / kConv2Warps;
  // fc1: a lane takes four inputs for kFc1Outputs outputs, kFc1Groups lanes share an output.
  static constexpr int kFc1Groups = 4 * kPositions;
  static constexpr int kFc1Outputs = kBlocks == 2 ? 15 : 32 / kBlocks;
  // fc2, in the leader: a lane takes eight inputs for six outputs, 16 lanes share an output.
  static constexpr int kFc2Warps = 7, kFc2Outputs = 6;

  // Packed parameters in device memory, in floats. conv1's are the kernel's arguments.
  static constexpr int kConv2At = 0;  // [shares][maps][[6 groups][32 lanes][4], [32 lanes]]
  static constexpr int kConv2Stride = kTapGroups * kLaneGroups + 32;
  static constexpr int kFc1At = kConv2At + kConv2Shares * kConv2Maps * kConv2Stride;
  static constexpr int kFc1Share = kWarps * kFc1Outputs * kLaneGroups;  // [blocks][8 warps][outputs][32][4]
  static constexpr int kBias2At = kFc1At + kBlocks * kFc1Share;         // [16]
  static constexpr int kTailAt = kBias2At + kMaps2;
  // The leader's tail, copied as it is to shared memory.
  static constexpr int kFc2InTail = 0;  // [7 warps][6][2][32][4]
  static constexpr int kFc3InTail = kFc2InTail + kFc2Warps * kFc2Outputs * 2 * kLaneGroups;  // [7][32][4]
  static constexpr int kBiasF1InTail = kFc3InTail + 7 * kLaneGroups;
  static constexpr int kBiasF2InTail = kBiasF1InTail + kF1, kBiasF3InTail = kBiasF2InTail + kF2;
  static constexpr int kTailFloats = kBiasF3InTail + 12;
  static constexpr int kPackedFloats = kTailAt + kTailFloats;
  static_assert(kTailAt % 4 == 0 && kTailFloats % 4 == 0, "bulk copies take whole 16 bytes");
};

/// conv1 as a kernel argument in constant memory, which avoids cache misses of a hundred blocks at once.
struct Conv1Parameters {
  alignas(16) float weight[kMaps1 * kFilterStride];  // [6][25, 3 unused]
  float bias[kMaps1];
};

}  // namespace lenslet::cluster_lenet5
