// Internal: where the parameters of the tensor-core kernels lie.
//
// Everything is in the order of mma's fragments (framework/instructions/mma.cuh), 16 bytes per lane where four
// registers go together, so that a warp reads 512 bytes in a row.
#pragma once

#include <cstdint>

namespace lenslet::fused_lenet5 {

/// Bytes from the start; each piece is [..., 32 lanes, n registers]. The fully connected weights come first, kFcWeights
/// bytes of them, which each map lays out. conv1 takes kConv1Pieces_ fragments, conv2 kConv2Steps_ a row of taps.
template <int kFcWeights, int kConv1Pieces_, int kConv2Steps_>
struct MmaMap {
  static constexpr int kLane4 = 32 * 16, kLane2 = 32 * 8;  // a fragment of four, of two registers
  static constexpr int kFc1Tiles = 8, kFc2Tiles = 6;       // of 16 outputs
  static constexpr int kConv1Pieces = kConv1Pieces_, kConv2Steps = kConv2Steps_;

  static constexpr int kFcBias = kFcWeights;  // fp32 [8 + 6 + 1 tiles, 16]
  static constexpr int kFcBytes = kFcBias + (kFc1Tiles + kFc2Tiles + 1) * 16 * 4;

  // The convolutions, which the lanes keep in registers.
  static constexpr int kConv1 = kFcBytes;  // [3 blocks of columns][5 rows], then zeros: fragments of four
  /// fp32 [3] of four: equal ones, in D's places.
  static constexpr int kConv1Bias = kConv1 + kConv1Pieces * kLane4;
  static constexpr int kConv2 = kConv1Bias + 3 * kLane4;                // [5 rows, steps] of four
  static constexpr int kConv2Bias = kConv2 + 5 * kConv2Steps * kLane4;  // fp32, in D's places
  static constexpr int kBytes = kConv2Bias + kLane4;
};

/// A step has 16 inputs. Blocks copy the fully connected layers to shared memory.
struct MmaFp16Map : MmaMap<(8 * 16 + 6 * 7 + 5) * 512 + 7 * 256, 4, 2> {
  // fc2 and fc3 have a last step of 8 inputs besides.
  static constexpr int kFc1Steps = 16, kFc2Steps = 7, kFc3Steps = 5;

  static constexpr int kFc1 = 0;                                          // [8, 16] of four
  static constexpr int kFc2 = kFc1 + kFc1Tiles * kFc1Steps * kLane4;      // [6, 7] of four
  static constexpr int kFc2Last = kFc2 + kFc2Tiles * kFc2Steps * kLane4;  // [6] of two
  static constexpr int kFc3 = kFc2Last + kFc2Tiles * kLane2;              // [5] of four
  static constexpr int kFc3Last = kFc3 + kFc3Steps * kLane4;              // of two
  static_assert(kFcBias == kFc3Last + kLane2);
};

/// The bits of the float 1.5 * 2^23: added to a whole number between -2^22 and 2^22, they are those of 1.5 * 2^23 + the
/// number. A multiply-add then reads it as a float, without a conversion.
constexpr int32_t kInt8Zero = 0x4b400000;

/// The convolutions in 8-bit integers, the fully connected layers as in fp16.
struct MmaInt8Map {
  using Fc = MmaFp16Map;
  static constexpr int kLane4 = Fc::kLane4;
  static constexpr int kConv1Pieces = 5;  // of 3 blocks of columns x 2 rows of outputs, three words each
  static constexpr int kConv1 = Fc::kFcBytes;
  static constexpr int kConv1Bias =
      kConv1 + kConv1Pieces * kLane4;  // [3] of four: int32 above kInt8Zero, the first
  static constexpr int kConv1Scale =
      kConv1Bias + 3 * kLane4;                             // [2] of four: fp32, three scales, three offsets
  static constexpr int kConv2 = kConv1Scale + 2 * kLane4;  // [5 rows] of four
  static constexpr int kConv2Bias = kConv2 + 5 * kLane4;   // of four: int32 above kInt8Zero, the even ones
  static constexpr int kConv2Scale = kConv2Bias + kLane4;  // of four: fp32, two scales, two offsets
  static constexpr int kBytes = kConv2Scale + kLane4;
};

/// A step has 8 inputs.
struct MmaTf32Map : MmaMap<(8 * 32 + 6 * 16 + 12) * 512, 8, 4> {
  // 256 inputs; 120 and zeros; 84 and zeros.
  static constexpr int kFc1Steps = 256 / 8, kFc2Steps = 128 / 8, kFc3Steps = 96 / 8;

  static constexpr int kFc1 = 0;                                      // [8, 32] of four
  static constexpr int kFc2 = kFc1 + kFc1Tiles * kFc1Steps * kLane4;  // [6, 16] of four
  static constexpr int kFc3 = kFc2 + kFc2Tiles * kFc2Steps * kLane4;  // [12] of four
  static_assert(kFcBias == kFc3 + kFc3Steps * kLane4);
};

}  // namespace lenslet::fused_lenet5
