// Internal: the layout of the backend `medium` in shared memory, and of its packed parameters.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"
#include "models/lenet5_sizes.h"

namespace lenslet::medium_lenet5 {

struct Layout {
  static constexpr int kThreads = 512, kWarps = kThreads / 32;  // 128 registers per thread
  static constexpr int kImages = 10, kFew = 3;                  // most of a turn; in the kernel for few
  /// Images of the next turn of `left`: as few turns as possible, and eight images where that takes no more of them,
  /// because 8 + 5 takes less time than 10 + 3.
  static LENSLET_HOST_DEVICE constexpr int images_of_turn(int64_t left) {
    if (left <= kImages) return static_cast<int>(left);
    const int64_t turns = (left - 1) / kImages + 1;
    return left <= 8 * turns ? 8 : kImages;
  }
  static constexpr int kFc1Outputs = kLenet5Hidden1, kFc2Outputs = kLenet5Hidden2;

  // conv1: an image is 4 rows of 6 tiles of 6 x 4 outputs, which become 3 x 2 pooled ones in rows of 12.
  static constexpr int kTileRows = 6, kTileColumns = 6, kTiles = 4 * kTileColumns;
  static constexpr int kTilePixelRow = kTileRows * kLenet5Side, kTilePooledRow = 3 * kLenet5Side1;

  // A map of an image: h1 [12][12], then V [2 halves x 3 quads of rows][8 points][4 rows].
  static constexpr int kQuads = 3, kQuad = 8 * 4, kMap = 2 * kQuads * kQuad, kImage = kLenet5Maps1 * kMap;
  /// Where a point is: both the points of a quad and the quads of a point are in different banks. From the place of one
  /// point or quad of a half those of the others follow by an exclusive or with 4 * point or 4 * quad.
  static LENSLET_HOST_DEVICE constexpr int point_place(int half, int quad, int point) {
    return (half * kQuads + quad) * kQuad + (point ^ half * 4 ^ quad) * 4;
  }
  // Later the same place holds what lanes of conv2 exchange, for two warps an image: [2 warps][2 quads of filters]
  // [2 halves][8 points][8 lanes] of two rows. The halves are in different banks.
  static constexpr int kExchangeGroup = 8 * 8 * 2 + 16, kExchangeGroups = 2 * kExchangeGroup - 16,
                       kExchange = 2 * kExchangeGroups;
  // Then h2 [256], half of it where each of the two warps has exchanged, f1 [120, eight unused] and f2 [84].
  static constexpr int kH2 = kExchange - 128, kF1 = 0, kF2 = kF1 + 128;
  static_assert(kF2 + kFc2Outputs <= kH2 && 2 * kExchange <= kImage && kLenet5Side1 * kLenet5Side1 <= kMap,
                "activations fit where h1 was");

  // Packed parameters in floats, in device memory and in shared memory. First those of conv2, transformed:
  // [4 quads of filters][8 points][6 channels][5 rows x 4 filters], points in different banks; the bias.
  static constexpr int kChannelFilters = kLenet5Filter * 4,
                       kPointFilters = kLenet5Maps1 * kChannelFilters + 4;
  static constexpr int kQuadFilters = 8 * kPointFilters;
  static constexpr int kBias2 = 4 * kQuadFilters, kConv2Floats = kBias2 + kLenet5Maps2;
  // Then the fully connected layers. A warp has eight outputs, a lane four inputs of each step of 128.
  static constexpr int kOutputs = 8, kStep = 128, kFc1Inputs = kLenet5Inputs1, kFc2Inputs = kFc1Outputs;
  static constexpr int kFc1Warps = 15, kFc2Warps = 11;
  static constexpr int kFc1 = kConv2Floats;                              // [15][8][2][32][4]
  static constexpr int kFc2 = kFc1 + kFc1Warps * kOutputs * kFc1Inputs;  // [11][8][30][4]
  static constexpr int kFc3 = kFc2 + kFc2Warps * kOutputs * kFc2Inputs;  // [7][32][4]
  static constexpr int kBiasF1 = kFc3 + 7 * kStep,
                       kBiasF2 = kBiasF1 + kFc1Outputs;                 // [120], [84, four zeros]
  static constexpr int kBiasF3 = kBiasF2 + 88, kFloats = kBiasF3 + 16;  // [10, six unused]
  static constexpr int kLinearFloats = kFloats - kConv2Floats;
  static_assert(kConv2Floats % 4 == 0 && kLinearFloats % 4 == 0, "bulk copies take whole 16 bytes");

  static constexpr int kSharedBytes = (kFloats + kImages * kImage) * 4;
};

}  // namespace lenslet::medium_lenet5
