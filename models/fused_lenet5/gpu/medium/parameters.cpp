#include "models/fused_lenet5/gpu/medium/parameters.h"

#include <algorithm>

#include "models/fused_lenet5/gpu/fp32/parameters.h"
#include "models/fused_lenet5/gpu/mma/packing.h"

namespace lenslet::medium_lenet5 {
namespace {

using fused_lenet5::rounded_weight;

void pack_conv2(const Tensor& weight, MathMode math, float* packed) {
  for (int k = 0; k < 16; ++k) {
    for (int c = 0; c < 6; ++c) {
      for (int r = 0; r < 5; ++r) {
        float taps[5];
        for (int s = 0; s < 5; ++s)
          taps[s] = rounded_weight(weight.data()[((k * 6 + c) * 5 + r) * 5 + s], math);
        for (int point = 0; point < 8; ++point) {
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
    for (int lane = 0; lane < 30; ++lane) {
      for (int e = 0; e < 4; ++e) {
        packed[i * Layout::kStep + 4 * lane + e] =
            rounded_weight(weight.data()[lane % 10 * 84 + 4 * (lane / 10 + 3 * i) + e], math);
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
  std::copy_n(parameters.conv2_bias.data(), 16, packed.data() + Layout::kBias2);
  std::copy_n(parameters.fc1_bias.data(), 120, packed.data() + Layout::kBiasF1);
  std::copy_n(parameters.fc2_bias.data(), 84, packed.data() + Layout::kBiasF2);
  std::copy_n(parameters.fc3_bias.data(), 10, packed.data() + Layout::kBiasF3);
  return packed;
}

}  // namespace lenslet::medium_lenet5
