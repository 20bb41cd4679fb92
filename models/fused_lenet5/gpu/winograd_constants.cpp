#include "models/fused_lenet5/gpu/winograd_constants.h"

#include <algorithm>

#include "models/fused_lenet5/gpu/weights.h"

namespace lenslet::fused_lenet5 {

WinogradConstants pack_winograd_constants(const Lenet5Parameters& parameters, ElementType input,
                                          MathMode math) {
  WinogradConstants packed{};
  FoldedConv1 conv1 = conv1_for(parameters, input);
  if (math != MathMode::kFp32) {
    for (double& weight : conv1.weight) weight = rounded_weight(weight, math);
  }
  for (int k = 0; k < kLenet5Maps1; ++k) {
    for (int point = 0; point < WinogradF45::kPoints; ++point) {
      for (int r = 0; r < kLenet5Filter; ++r) {
        const float weight =
            winograd_weight(point, conv1.weight.data() + (k * kLenet5Filter + r) * kLenet5Filter);
        // Exact, since the scale is a power of two.
        packed.conv1[k][point * kLenet5Filter + r] =
            input == ElementType::kUint8 ? weight / static_cast<float>(WinogradF45::kByteScale[point])
                                         : weight;
      }
    }
    packed.conv1_bias[k] = static_cast<float>(conv1.bias[static_cast<size_t>(k)]);
  }
  std::copy_n(parameters.conv2_bias.data(), kLenet5Maps2, packed.conv2_bias);
  for (int pair = 0; pair < 3; ++pair) {
    for (int o = 0; o < 3; ++o) packed.powers[pair][o] = WinogradF45::power(pair, o + 1);
  }
  return packed;
}

}  // namespace lenslet::fused_lenet5
