#include "models/fused_lenet5/gpu/fp32/parameters.h"

#include <algorithm>

#include "models/fused_lenet5/gpu/mma/packing.h"

namespace lenslet::fused_lenet5 {

Fp32Constants pack_fp32_constants(const Lenet5Parameters& parameters, ElementType input, MathMode math) {
  Fp32Constants packed{};
  FoldedConv1 conv1 = conv1_for(parameters, input);
  if (math != MathMode::kFp32) {
    for (double& weight : conv1.weight) weight = rounded_weight(weight, math);
  }
  for (int k = 0; k < 6; ++k) {
    for (int point = 0; point < WinogradF45::kPoints; ++point) {
      for (int r = 0; r < 5; ++r) {
        const float weight = winograd_weight(point, conv1.weight.data() + (k * 5 + r) * 5);
        // Exact, since the scale is a power of two.
        packed.conv1[k][point * 5 + r] = input == ElementType::kUint8
                                             ? weight / static_cast<float>(WinogradF45::kByteScale[point])
                                             : weight;
      }
    }
    packed.conv1_bias[k] = static_cast<float>(conv1.bias[static_cast<size_t>(k)]);
  }
  std::copy_n(parameters.conv2_bias.data(), 16, packed.conv2_bias);
  for (int pair = 0; pair < 3; ++pair) {
    for (int o = 0; o < 3; ++o) packed.powers[pair][o] = WinogradF45::power(pair, o + 1);
  }
  return packed;
}

std::vector<float> pack_fp32_conv2(const Lenet5Parameters& parameters) {
  std::vector<float> packed(Fp32Conv2::kFloats, 0.0f);
  for (int k = 0; k < 16; ++k) {
    for (int point = 0; point < WinogradF45::kPoints; ++point) {
      for (int c = 0; c < 6; ++c) {
        for (int r = 0; r < 5; ++r) {
          const int at = k / 2 * Fp32Conv2::kPair + point * Fp32Conv2::kPoint + c * Fp32Conv2::kChannel;
          packed[static_cast<size_t>(at + r * 2 + k % 2)] =
              winograd_weight(point, parameters.conv2_weight.data() + ((k * 6 + c) * 5 + r) * 5);
        }
      }
    }
  }
  return packed;
}

std::vector<float> pack_fp32_linear(const Lenet5Parameters& parameters) {
  std::vector<float> packed(Fp32Linear::kFloats, 0.0f);
  float* const fc1 = packed.data() + Fp32Linear::kFc1;
  for (int i = 0; i < 256; ++i) {
    // conv2's threads store [pair of filters][half of the columns][filter][4 rows][2 columns].
    const int filter = i / 32 * 2 + i / 8 % 2, row = i / 2 % 4, column = i / 16 % 2 * 2 + i % 2;
    for (int o = 0; o < 120; ++o)
      fc1[i * 120 + o] = parameters.fc1_weight.data()[o * 256 + filter * 16 + row * 4 + column];
  }
  float* const fc2 = packed.data() + Fp32Linear::kFc2;
  for (int i = 0; i < 120; ++i) {
    for (int o = 0; o < 84; ++o)
      fc2[i * Fp32Linear::kFc2Row + o / 7 * 8 + o % 7] = parameters.fc2_weight.data()[o * 120 + i];
  }
  float* const fc3 = packed.data() + Fp32Linear::kFc3;
  for (int i = 0; i < 84; ++i) {
    for (int o = 0; o < 10; ++o) fc3[i * Fp32Linear::kFc3Row + o] = parameters.fc3_weight.data()[o * 84 + i];
  }
  std::copy_n(parameters.fc1_bias.data(), 120, packed.data() + Fp32Linear::kBias1);
  std::copy_n(parameters.fc2_bias.data(), 84, packed.data() + Fp32Linear::kBias2);
  std::copy_n(parameters.fc3_bias.data(), 10, packed.data() + Fp32Linear::kBias3);
  return packed;
}

}  // namespace lenslet::fused_lenet5
