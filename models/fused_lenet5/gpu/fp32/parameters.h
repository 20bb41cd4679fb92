// Internal: LeNet-5's parameters as the backend `fp32` reads them, packed on the host. G is WinogradF45's; each value
// is computed in fp64 and rounded once.
#pragma once

#include <vector>

#include "models/fused_lenet5/network_backend.h"
#include "models/lenet5_sizes.h"

namespace lenslet::fused_lenet5 {

/// conv2's filters, G w of each row: [8 pairs of filters] of [8 points][6 channels][5 rows x 2 filters, 2 unused], and
/// 4 unused, so that two pairs are in different banks of shared memory.
struct Fp32Conv2 {
  static constexpr int kChannel = 12, kPoint = kLenet5Maps1 * kChannel, kPair = 8 * kPoint + 4,
                       kFloats = 8 * kPair;
};

/// The fully connected layers, inputs outermost, one after another.
struct Fp32Linear {
  static constexpr int kFc1 = 0;      // [256][120]; inputs in the order in which conv2 stores
  static constexpr int kFc2Row = 96;  // 12 times 7 outputs and a 0
  static constexpr int kFc2 = kFc1 + kLenet5Inputs1 * kLenet5Hidden1;  // [120][96]
  static constexpr int kFc3Row = 12;                                   // 10 classes, 2 unused
  static constexpr int kFc3 = kFc2 + kLenet5Hidden1 * kFc2Row;         // [84][12]
  static constexpr int kBias1 = kFc3 + kLenet5Hidden2 * kFc3Row, kBias2 = kBias1 + kLenet5Hidden1,
                       kBias3 = kBias2 + kLenet5Hidden2;
  static constexpr int kFloats = kBias3 + kLenet5Classes;
};

std::vector<float> pack_fp32_conv2(const Lenet5Parameters& parameters);
std::vector<float> pack_fp32_linear(const Lenet5Parameters& parameters);

}  // namespace lenslet::fused_lenet5
