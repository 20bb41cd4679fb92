#include "models/fused_lenet5/gpu/medium/parameters.h"

#include <algorithm>

#include "models/fused_lenet5/gpu/weights.h"
#include "models/fused_lenet5/winograd.h"

namespace lenslet::medium_lenet5 {
namespace {

using fused_lenet5::rounded_weight;

void pack_conv2(const Tensor& weight, MathMode math, float* packed) {
  for (int k = 0; k < kLenet5Maps2; ++k) {
    for (int c = 0; c < kLenet5Maps1; ++c) {
      for (int r = 0; r < kLenet5Filter; ++r) {
        float taps[kLenet5Filter];
        const float* const row = weight.data() + ((k * kLenet5Maps1 + c) * kLenet5Filter + r) * kLenet5Filter;
        for (int s = 0; s < kLenet5Filter; ++s) taps[s] = rounded_weight(row[s], math);
        for (int point = 0; point < fused_lenet5::WinogradF45::kPoints; ++point) {
          packed[k / 4 * Layout::kQuadFilters + point * Layout::kPointFilters + c * Layout::kChannelFilters +
                 r * 4 + k % 4] = fused_lenet5::winograd_weight(point, taps);
        }
      }
    }
  }
}

/// weight [outputs, inputs] in its order.
void pack_linear(const Tensor& weight, MathMode math, float* packed) {
  const int64_t elements = weight.shape().num_elements();
  for (int64_t i = 0; i < elements; ++i) packed[i] = rounded_weight(weight.data()[i], math);
}

/// Lane 10 * part + o has every third group of four inputs of class o.
void pack_fc3(const Tensor& weight, MathMode math, float* packed) {
  for (int i = 0; i < 7; ++i) {
    for (int lane = 0; lane < 3 * kLenet5Classes; ++lane) {
      for (int e = 0; e < 4; ++e) {
        const int input = 4 * (lane / kLenet5Classes + 3 * i) + e;
        packed[i * Layout::kStep + 4 * lane + e] =
            rounded_weight(weight.data()[lane % kLenet5Classes * Layout::kFc2Outputs + input], math);
      }
    }
  }
}

}  // namespace

std::vector<float> pack_parameters(const Lenet5Parameters& parameters, MathMode math) {
  std::vector<float> packed(Layout::kFloats, 0.0f);
  pack_conv2(parameters.conv2_weight, math, packed.data());
  pack_linear(parameters.fc1_weight, math, packed.data() + Layout::kFc1);
  pack_linear(parameters.fc2_weight, math, packed.data() + Layout::kFc2);
  pack_fc3(parameters.fc3_weight, math, packed.data() + Layout::kFc3);
  std::copy_n(parameters.conv2_bias.data(), kLenet5Maps2, packed.data() + Layout::kBias2);
  std::copy_n(parameters.fc1_bias.data(), Layout::kFc1Outputs, packed.data() + Layout::kBiasF1);
  std::copy_n(parameters.fc2_bias.data(), Layout::kFc2Outputs, packed.data() + Layout::kBiasF2);
  std::copy_n(parameters.fc3_bias.data(), kLenet5Classes, packed.data() + Layout::kBiasF3);
  return packed;
}

}  // namespace lenslet::medium_lenet5
