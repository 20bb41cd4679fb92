#include "models/fused_lenet5/gpu/fp32/parameters.h"

#include <algorithm>

#include "models/fused_lenet5/winograd.h"

namespace lenslet::fused_lenet5 {

std::vector<float> pack_fp32_conv2(const Lenet5Parameters& parameters) {
  std::vector<float> packed(Fp32Conv2::kFloats, 0.0f);
  for (int k = 0; k < kLenet5Maps2; ++k) {
    for (int point = 0; point < WinogradF45::kPoints; ++point) {
      for (int c = 0; c < kLenet5Maps1; ++c) {
        for (int r = 0; r < kLenet5Filter; ++r) {
          const int at = k / 2 * Fp32Conv2::kPair + point * Fp32Conv2::kPoint + c * Fp32Conv2::kChannel;
          packed[static_cast<size_t>(at + r * 2 + k % 2)] =
              winograd_weight(point, parameters.conv2_weight.data() +
                                         ((k * kLenet5Maps1 + c) * kLenet5Filter + r) * kLenet5Filter);
        }
      }
    }
  }
  return packed;
}

std::vector<float> pack_fp32_linear(const Lenet5Parameters& parameters) {
  std::vector<float> packed(Fp32Linear::kFloats, 0.0f);
  float* const fc1 = packed.data() + Fp32Linear::kFc1;
  for (int i = 0; i < kLenet5Inputs1; ++i) {
    // conv2's threads store [pair of filters][half of the columns][filter][4 rows][2 columns].
    const int filter = i / 32 * 2 + i / 8 % 2, row = i / 2 % 4, column = i / 16 % 2 * 2 + i % 2;
    for (int o = 0; o < kLenet5Hidden1; ++o)
      fc1[i * kLenet5Hidden1 + o] =
          parameters.fc1_weight.data()[o * kLenet5Inputs1 + filter * 16 + row * 4 + column];
  }
  float* const fc2 = packed.data() + Fp32Linear::kFc2;
  for (int i = 0; i < kLenet5Hidden1; ++i) {
    for (int o = 0; o < kLenet5Hidden2; ++o)
      fc2[i * Fp32Linear::kFc2Row + o / 7 * 8 + o % 7] = parameters.fc2_weight.data()[o * kLenet5Hidden1 + i];
  }
  float* const fc3 = packed.data() + Fp32Linear::kFc3;
  for (int i = 0; i < kLenet5Hidden2; ++i) {
    for (int o = 0; o < kLenet5Classes; ++o)
      fc3[i * Fp32Linear::kFc3Row + o] = parameters.fc3_weight.data()[o * kLenet5Hidden2 + i];
  }
  std::copy_n(parameters.fc1_bias.data(), kLenet5Hidden1, packed.data() + Fp32Linear::kBias1);
  std::copy_n(parameters.fc2_bias.data(), kLenet5Hidden2, packed.data() + Fp32Linear::kBias2);
  std::copy_n(parameters.fc3_bias.data(), kLenet5Classes, packed.data() + Fp32Linear::kBias3);
  return packed;
}

}  // namespace lenslet::fused_lenet5
