// Internal: what the kernels with Winograd convolutions read from the constant bank, packed on the host. G is
// WinogradF45's; each value is computed in fp64 and rounded once.
#pragma once

#include "models/fused_lenet5/network_backend.h"
#include "models/fused_lenet5/winograd.h"
#include "models/lenet5_sizes.h"

namespace lenslet::fused_lenet5 {

/// A kernel argument, in the constant bank.
struct WinogradConstants {
  float conv1[kLenet5Maps1]
             [WinogradF45::kPoints * kLenet5Filter];  // G w of each row: [filter][8 points][5 rows]
  float conv1_bias[kLenet5Maps1];
  float conv2_bias[kLenet5Maps2];
  float powers[3][4];  // of the three pairs' points: first, second, third, unused
};

/// For bytes the normalisation is folded into conv1. In a math mode other than fp32 conv1's weights are rounded to it
/// before they are transformed.
WinogradConstants pack_winograd_constants(const Lenet5Parameters& parameters, ElementType input,
                                          MathMode math = MathMode::kFp32);

}  // namespace lenslet::fused_lenet5
