// LeNet-5's parameters in the order in which the SIMD kernels read them.
#include <algorithm>

#include "framework/base/integer_math.h"
#include "models/fused_lenet5/cpu/simd/kernels.h"
#include "models/fused_lenet5/fold.h"
#include "models/fused_lenet5/winograd.h"

namespace lenslet {
namespace {

/// [filters, channels, 5, 5] to G w of each row, [8 points, channels, 5 rows, filters].
template <typename Value>
Tensor transformed(const Value* weight, int64_t filters, int64_t channels) {
  using fused_lenet5::WinogradF45;
  Tensor result({WinogradF45::kPoints, channels, 5, filters});
  float* out = result.data();
  for (int point = 0; point < WinogradF45::kPoints; ++point) {
    for (int64_t row = 0; row < channels * 5; ++row) {
      for (int64_t k = 0; k < filters; ++k)
        *out++ = fused_lenet5::winograd_weight(point, weight + (k * channels * 5 + row) * WinogradF45::kTaps);
    }
  }
  return result;
}

Tensor copied(const Tensor& source) {
  Tensor result(source.shape());
  std::copy_n(source.data(), source.shape().num_elements(), result.data());
  return result;
}

/// `channels` > 1: the layer's inputs are [channels, inputs / channels] in the model and [inputs / channels, channels]
/// here.
SimdLenet5Parameters::Dense panels_of(const Tensor& weight, const Tensor& bias, int channels, int lanes) {
  const int64_t outputs = weight.shape()[0], inputs = weight.shape()[1], width = 2 * int64_t{lanes};
  const int64_t panels = ceil_div(outputs, width), places = inputs / channels;
  SimdLenet5Parameters::Dense dense{Tensor({panels, inputs, width}), Tensor({panels, width})};
  std::fill_n(dense.weight.data(), dense.weight.shape().num_elements(), 0.0f);
  std::fill_n(dense.bias.data(), dense.bias.shape().num_elements(), 0.0f);
  std::copy_n(bias.data(), outputs, dense.bias.data());
  for (int64_t output = 0; output < outputs; ++output) {
    float* const panel = dense.weight.data() + output / width * inputs * width + output % width;
    for (int64_t input = 0; input < inputs; ++input) {
      const int64_t source = input % channels * places + input / channels;
      panel[input * width] = weight.data()[output * inputs + source];
    }
  }
  return dense;
}

}  // namespace

SimdLenet5Parameters::SimdLenet5Parameters(const Lenet5Parameters& parameters, ElementType input, int lanes)
    : conv1_weight(transformed(parameters.conv1_weight.data(), 6, 1)),
      conv1_bias(copied(parameters.conv1_bias)),
      conv2_weight(transformed(parameters.conv2_weight.data(), 16, 6)),
      conv2_bias(copied(parameters.conv2_bias)),
      fc1(panels_of(parameters.fc1_weight, parameters.fc1_bias, 16, lanes)),
      fc2(panels_of(parameters.fc2_weight, parameters.fc2_bias, 1, lanes)),
      fc3(panels_of(parameters.fc3_weight, parameters.fc3_bias, 1, lanes)) {
  if (input == ElementType::kFp32) return;
  const FoldedConv1 folded = fold_normalisation(parameters);
  conv1_weight = transformed(folded.weight.data(), 6, 1);
  std::copy(folded.bias.begin(), folded.bias.end(), conv1_bias.data());
}

}  // namespace lenslet
