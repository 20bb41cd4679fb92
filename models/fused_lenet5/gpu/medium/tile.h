// Internal: the layout of the backend `medium` in shared memory, and of its packed parameters.
#pragma once

#include "models/lenet5_sizes.h"

namespace lenslet::medium_lenet5 {

struct Tile {
  static constexpr int kThreads = 512, kWarps = kThreads / 32;  // 128 registers per thread
  static constexpr int kImages = 8;                             // of a group, at most
  static constexpr int kFc1Outputs = 120, kFc2Outputs = 84;

  // conv1: an image is 4 rows of 6 tiles of 6 x 4 outputs, which become 3 x 2 pooled ones in rows of 12.
  static constexpr int kTileRows = 6, kTileColumns = 6, kTiles = 4 * kTileColumns;
  static constexpr int kTilePixelRow = kTileRows * kLenet5Side, kTilePooledRow = 3 * 12;

  // A map of an image: h1 [12][12], then V [8 points][2 halves][12 rows]. Eight points are in different banks.
  static constexpr int kPoint = 2 * 12 + 4, kMap = 8 * kPoint, kImage = 6 * kMap;
  // Later the same place holds h2 [256], f1 [120, eight unused] and f2 [84] of the image.
  static constexpr int kH2 = 0, kF1 = 256, kF2 = kF1 + 128;
  static_assert(kF2 + kFc2Outputs <= kImage && 12 * 12 <= kMap, "activations fit where h1 was");

  // Packed parameters in floats, in device memory and in shared memory. First those of conv2, transformed:
  // [4 quads of filters][8 points][6 channels][5 rows x 4 filters], points in different banks; the bias.
  static constexpr int kChannelFilters = 5 * 4, kPointFilters = 6 * kChannelFilters + 4;
  static constexpr int kQuadFilters = 8 * kPointFilters;
  static constexpr int kBias2 = 4 * kQuadFilters, kConv2Floats = kBias2 + 16;
  // Then the fully connected layers. A warp has eight outputs, a lane four inputs of each step of 128.
  static constexpr int kOutputs = 8, kStep = 128;
  static constexpr int kFc1Warps = 15, kFc1Steps = 2, kFc2Warps = 11, kFc2Steps = 1;
  static constexpr int kFc1 = kConv2Floats;                                     // [15][8][2][32][4]
  static constexpr int kFc2 = kFc1 + kFc1Warps * kOutputs * kFc1Steps * kStep;  // [11][8][32][4]
  static constexpr int kFc3 = kFc2 + kFc2Warps * kOutputs * kFc2Steps * kStep;  // [7][32][4]
  static constexpr int kBiasF1 = kFc3 + 7 * kStep,
                       kBiasF2 = kBiasF1 + kFc1Outputs;                 // [120], [84, four zeros]
  static constexpr int kBiasF3 = kBiasF2 + 88, kFloats = kBiasF3 + 16;  // [10, six unused]
  static constexpr int kLinearFloats = kFloats - kConv2Floats;
  static_assert(kConv2Floats % 4 == 0 && kLinearFloats % 4 == 0, "bulk copies take whole 16 bytes");

  static constexpr int kSharedBytes = (kFloats + kImages * kImage) * 4;
};

}  // namespace lenslet::medium_lenet5
