// Internal: the layout of the parameters of the tf32 tensor-core kernel, in the order of mma's fragments.
#pragma once

namespace lenslet::fused_lenet5 {

/// Bytes from the start; each piece is [..., 32 lanes, n registers].
struct MmaTf32Map {
  static constexpr int kLane4 = 32 * 16;                      // a fragment of four registers
  static constexpr int kFc1Tiles = 8, kFc1Steps = 256 / 8;    // 16 neurons, 8 inputs each
  static constexpr int kFc2Tiles = 6, kFc2Steps = 128 / 8;    // 120 inputs and zeros
  static constexpr int kFc3Steps = 96 / 8;                    // 84 inputs and zeros
  static constexpr int kConv1Steps = 5, kConv2Steps = 5 * 4;  // 8 pixels; 8 values of h1

  static constexpr int kFc1 = 0;                                      // [8, 32] of four
  static constexpr int kFc2 = kFc1 + kFc1Tiles * kFc1Steps * kLane4;  // [6, 16] of four
  static constexpr int kFc3 = kFc2 + kFc2Tiles * kFc2Steps * kLane4;  // [12] of four
  static constexpr int kFcBias = kFc3 + kFc3Steps * kLane4;           // fp32 [8 + 6 + 1 tiles, 16]
  static constexpr int kConv1 =
      kFcBias + (kFc1Tiles + kFc2Tiles + 1) * 16 * 4;     // [3 blocks][5 rows] of two, zeros: 8 of four
  static constexpr int kConv1Bias = kConv1 + 8 * kLane4;  // fp32 [3] of four: equal ones, in D's places
  static constexpr int kConv2 = kConv1Bias + 3 * kLane4;  // [5 rows, 4 steps] of four
  static constexpr int kConv2Bias = kConv2 + kConv2Steps * kLane4;  // fp32, in D's places
  static constexpr int kBytes = kConv2Bias + kLane4;
};

}  // namespace lenslet::fused_lenet5
