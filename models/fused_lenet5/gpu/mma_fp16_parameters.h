// Internal: where the parameters of the fp16 tensor-core kernel lie.
//
// Everything is in the order of mma's fragments (mma_instructions.cuh), 16 bytes per lane where four registers go
// together, so that a warp reads 512 bytes in a row.
#pragma once

namespace lenslet::fused_lenet5 {

/// Bytes from the start; each piece is [..., 32 lanes, n registers].
struct MmaFp16Map {
  static constexpr int kLane4 = 32 * 16, kLane2 = 32 * 8;  // a fragment of four, of two registers
  static constexpr int kFc1Tiles = 8, kFc1Steps = 16;      // 16 neurons, 16 inputs each
  static constexpr int kFc2Tiles = 6, kFc2Steps = 7;       // and a last step of 8 inputs
  static constexpr int kFc3Steps = 5;                      // and a last step of 8 inputs

  // The fully connected layers, which the blocks copy to shared memory.
  static constexpr int kFc1 = 0;                                          // [8, 16] of four
  static constexpr int kFc2 = kFc1 + kFc1Tiles * kFc1Steps * kLane4;      // [6, 7] of four
  static constexpr int kFc2Last = kFc2 + kFc2Tiles * kFc2Steps * kLane4;  // [6] of two
  static constexpr int kFc3 = kFc2Last + kFc2Tiles * kLane2;              // [5] of four
  static constexpr int kFc3Last = kFc3 + kFc3Steps * kLane4;              // of two
  static constexpr int kFcBias = kFc3Last + kLane2;                       // fp32 [8 + 6 + 1 tiles, 16]
  static constexpr int kFcBytes = kFcBias + (kFc1Tiles + kFc2Tiles + 1) * 16 * 4;

  // The convolutions, which the lanes keep in registers.
  static constexpr int kConv1 = kFcBytes;  // [3 blocks of columns][5 rows], then zeros: 4 fragments of four
  static constexpr int kConv1Bias = kConv1 + 4 * kLane4;   // fp32 [3] of four: equal ones, in D's places
  static constexpr int kConv2 = kConv1Bias + 3 * kLane4;   // [5 rows, 2 steps] of four
  static constexpr int kConv2Bias = kConv2 + 10 * kLane4;  // fp32, in D's places
  static constexpr int kBytes = kConv2Bias + kLane4;
};

}  // namespace lenslet::fused_lenet5
