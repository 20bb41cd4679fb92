#include "tests/lenet/quantised_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/tensor/stored_floats.h"

namespace lenslet {
namespace {

/// Sums of filters 5 x 5 at every place of maps [channels, side, side], then the largest of each 2 x 2 of them, or 0.
std::vector<int32_t> largest_sums(const std::vector<int32_t>& maps, int channels, int side,
                                  const int8_t* weights, const int32_t* biases, int filters) {
  const int out = (side - 4) / 2;
  std::vector<int32_t> largest(static_cast<size_t>(filters * out * out), 0);
  for (int f = 0; f < filters; ++f) {
    for (int y = 0; y < 2 * out; ++y) {
      for (int x = 0; x < 2 * out; ++x) {
        int32_t sum = biases[f];
        for (int c = 0; c < channels; ++c) {
          for (int tap = 0; tap < 25; ++tap) {
            sum += weights[(f * channels + c) * 25 + tap] *
                   maps[static_cast<size_t>((c * side + y + tap / 5) * side + x + tap % 5)];
          }
        }
        int32_t& place = largest[static_cast<size_t>((f * out + y / 2) * out + x / 2)];
        place = std::max(place, sum);
      }
    }
  }
  return largest;
}

}  // namespace

std::array<float, 256> quantised_h2(const QuantisedConvolutions& convolutions, const uint8_t* image) {
  const std::vector<int32_t> pixels(image, image + 28 * 28);
  std::vector<int32_t> h1 =
      largest_sums(pixels, 1, 28, convolutions.conv1_weight.data(), convolutions.conv1_bias.data(), 6);
  for (size_t i = 0; i < h1.size(); ++i)  // a product of at most 44 bits, so that it is exact
    h1[i] = static_cast<int32_t>(std::nearbyint(h1[i] * double{convolutions.conv1_scale[i / 144]}));
  const std::vector<int32_t> sums =
      largest_sums(h1, 6, 12, convolutions.conv2_weight.data(), convolutions.conv2_bias.data(), 16);
  std::array<float, 256> h2{};
  for (size_t i = 0; i < h2.size(); ++i) {
    const float value = static_cast<float>(sums[i] * double{convolutions.conv2_scale[i / 16]});
    h2[i] = rounded_to(ElementType::kFp16, value);
  }
  return h2;
}

}  // namespace lenslet
