// Internal: LeNet-5's parameters as the backend `fp32` reads them, packed on the host. G is WinogradF45's; each value
// is computed in fp64 and rounded once.
#pragma once

#include <vector>

#include "models/fused_lenet5/network_backend.h"
#include "models/fused_lenet5/winograd.h"

namespace lenslet::fused_lenet5 {

/// The kernel argument of the convolution kernel, in the constant bank.
struct Fp32Constants {
  float conv1[6][40];  // G w of each row: [filter][8 points][5 rows]
  float conv1_bias[6];
  float conv2_bias[16];
  float powers[3][4];  // of the three pairs' points: first, second, third, unused
};

/// conv2's filters, G w of each row: [8 pairs of filters] of [8 points][6 channels][5 rows x 2 filters, 2 unused], and
/// 4 unused, so that two pairs are in different banks of shared memory.
struct Fp32Conv2 {
  static constexpr int kChannel = 12, kPoint = 6 * kChannel, kPair = 8 * kPoint + 4, kFloats = 8 * kPair;
};

/// The fully connected layers, inputs outermost, one after another.
struct Fp32Linear {
  static constexpr int kFc1 = 0;                     // [256][120]; inputs in the order in which conv2 stores
  static constexpr int kFc2Row = 96;                 // 12 times 7 outputs and a 0
  static constexpr int kFc2 = kFc1 + 256 * 120;      // [120][96]
  static constexpr int kFc3Row = 12;                 // 10 classes, 2 unused
  static constexpr int kFc3 = kFc2 + 120 * kFc2Row;  // [84][12]
  static constexpr int kBias1 = kFc3 + 84 * kFc3Row, kBias2 = kBias1 + 120, kBias3 = kBias2 + 84;
  static constexpr int kFloats = kBias3 + 10;
};

/// For bytes the normalisation is folded into conv1. In a math mode other than fp32 conv1's weights are rounded to it
/// before they are transformed.
Fp32Constants pack_fp32_constants(const Lenet5Parameters& parameters, ElementType input,
                                  MathMode math = MathMode::kFp32);
std::vector<float> pack_fp32_conv2(const Lenet5Parameters& parameters);
std::vector<float> pack_fp32_linear(const Lenet5Parameters& parameters);

}  // namespace lenslet::fused_lenet5
