// Tiling of the convolution whose tile serves all taps: sizes of a problem and of a tile, and the position of a padded
// pixel in x.
#pragma once

#include <cstdint>

#include "framework/instructions/warp.cuh"
#include "framework/tensor/math_mode.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

struct WgmmaShape {
  int c, h, w, channel_pitch, image;  // input; H*W (NCHW) or 1; C*H*W
  int pad_h, pad_w;
  int k, p, q, plane;       // output; P*Q
  int padded_pixels;        // N*Hp*Wp
  int taps, s;              // R*S, S
  int tap_row, tap_column;  // dilation_h*Wp, dilation_w
  int pitch;                // of a slice in shared memory, pixels
  int blocks;               // of 32 pixels in a slice: outputs + (R-1)*tap_row + (S-1)*tap_column, rounded up
  int slices;               // of kChannels channels
  int tiles;                // of the whole problem
  int input_depth, filter_depth;                    // of the two rings: slices, stages
  int ring_offset, staging_offset, barrier_offset;  // in shared memory, bytes
  FastDivide by_padded_row, by_padded_image, by_filter_tiles;
  bool relu;
};

/// kTilesM tiles of 64 pixels a warpgroup, kFilters filters per block; a slice of inputs is one wgmma deep; the filters
/// of kStageTaps taps, a divisor of R*S, travel together.
template <MathMode kMode, bool kChannelsLast, int kM, int kN, int kTaps>
struct WgmmaTile {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = kChannelsLast;
  static constexpr int kTilesM = kM, kFilters = kN, kStageTaps = kTaps;
  static constexpr int kLanes = kMode == MathMode::kTf32 ? 4 : 8;  // channels in a piece of 16 bytes
  static constexpr int kPieces = 2, kChannels = kPieces * kLanes;  // of a slice
  static constexpr int kConsumers = 2;                             // warpgroups
  static constexpr int kPixelsOfGroup = kWarpgroupRows * kTilesM, kPixels = kConsumers * kPixelsOfGroup;
  // Producers: kLoaders warps load, one requests filters, kStorers per consumer store its sums. NCHW's stores are few
  // and wide, so one storer is enough; its loads of single floats need more registers than twelve warps would have.
  static constexpr int kProducers = kNhwc ? 3 : 2;  // warpgroups
  static constexpr int kThreads = kWarpgroup * (kProducers + kConsumers);
  static constexpr int kLoaders = kNhwc ? 7 : 5, kStorers = kNhwc ? 2 : 1;
  // Blocks of 32 pixels that a loader has on the way, in registers.
  static constexpr int kOwned = kNhwc ? 3 : 4;
  static_assert(kLoaders + 1 + kStorers * kConsumers == 4 * kProducers, "every warp has a role");
  // Registers in total at most as at launch: 96 per thread with 640 threads, 128 with 512.
  static constexpr int kProducerRegisters = kNhwc ? 48 : 88, kConsumerRegisters = kNhwc ? 160 : 168;
  static constexpr int kStepChannels = 8, kSteps = kChannels / kStepChannels;  // loaded at once
  static constexpr int kTapBytes = kPieces * kFilters * 16;                    // filters of a slice and tap
  static constexpr int kStageBytes = kStageTaps * kTapBytes;
  static constexpr int kStagingFloats = kFilters * kPixelsOfGroup;  // of a warpgroup
};

/// Element of x at padded pixel v and channel 0, or -1 in the padding and past the end.
template <class Tile>
__device__ __forceinline__ int wgmma_source(const WgmmaShape& shape, int v) {
  int rest, column;
  const int n = shape.by_padded_image.divide(v, rest);
  const int h = shape.by_padded_row.divide(rest, column) - shape.pad_h, w = column - shape.pad_w;
  const bool inside = v < shape.padded_pixels && static_cast<unsigned>(h) < static_cast<unsigned>(shape.h) &&
                      static_cast<unsigned>(w) < static_cast<unsigned>(shape.w);
  return inside ? n * shape.image + (h * shape.w + w) * (Tile::kNhwc ? shape.c : 1) : -1;
}

}  // namespace lenslet
