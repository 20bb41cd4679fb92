// Internal: conv1 with ReLU and pooling as a thread of `fp32` and `medium` computes it, by Winograd's F(4, 5) along the
// rows.
#pragma once

#include <cstdint>

#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/winograd_constants.h"
#include "models/fused_lenet5/winograd.h"

namespace lenslet::fused_lenet5 {

/// B^T of the eight pixels from `source` on.
__device__ __forceinline__ void transform_pixels(const float* source, float (&v)[8]) {
  float d[8];
  *reinterpret_cast<float4*>(d) = __ldg(reinterpret_cast<const float4*>(source));
  *reinterpret_cast<float4*>(d + 4) = __ldg(reinterpret_cast<const float4*>(source) + 1);
  WinogradF45::input(d, v);
}
/// For bytes times kByteScale, which conv1's filters are divided by.
__device__ __forceinline__ void transform_pixels(const uint8_t* source, float (&v)[8]) {
  const auto* const four = reinterpret_cast<const uint32_t*>(source);
  WinogradF45::input(__ldg(four), __ldg(four + 1), v);
}

/// conv1, ReLU and pooling: 6 rows by 4 columns of outputs of `count` filters from `first` on. source: the pixel above
/// and left; maps: h1 at the first pooled output, a filter every kMap floats.
template <int kMap, typename Pixel>
__device__ __forceinline__ void winograd_conv1(const WinogradConstants& constants, const Pixel* source,
                                               float* maps, int first, int count) {
  float v[10][8];
#pragma unroll
  for (int row = 0; row < 10; ++row) transform_pixels(source + row * kLenet5Side, v[row]);
  maps += first * kMap;
#pragma unroll 1
  for (int k = first; k < first + count; ++k, maps += kMap) {
    const float bias = constants.conv1_bias[k];
    // The products of one point, down the columns; they start with the bias or with zero.
    const auto multiply = [&](float(&sums)[6], int point, bool with_bias) {
#pragma unroll
      for (int r = 0; r < kLenet5Filter; ++r) {
        const float w = constants.conv1[k][point * kLenet5Filter + r];
#pragma unroll
        for (int row = 0; row < 6; ++row) {
          const float x = v[row + r][point];
          sums[row] = r > 0 ? fmaf(x, w, sums[row]) : with_bias ? fmaf(x, w, bias) : x * w;
        }
      }
    };
    float y[6][4], positive[6], negative[6];
    multiply(positive, 6, true);  // zero
    multiply(negative, 7, true);  // infinity
#pragma unroll
    for (int row = 0; row < 6; ++row) {
      y[row][0] = positive[row];
      y[row][3] = negative[row];
    }
#pragma unroll
    for (int pair = 0; pair < 3; ++pair) {
      multiply(positive, 2 * pair, false);
      multiply(negative, 2 * pair + 1, false);
#pragma unroll
      for (int row = 0; row < 6; ++row) {
        if (pair == 0) y[row][1] = y[row][2] = bias;
        WinogradF45::add_pair(positive[row], negative[row], WinogradF45::power(pair, 1),
                              WinogradF45::power(pair, 2), WinogradF45::power(pair, 3), y[row]);
      }
    }
#pragma unroll
    for (int row = 0; row < 6; row += 2) {
      *reinterpret_cast<float2*>(maps + row / 2 * kLenet5Side1) =
          make_float2(relu_pool_bits(y[row][0], y[row][1], y[row + 1][0], y[row + 1][1]),
                      relu_pool_bits(y[row][2], y[row][3], y[row + 1][2], y[row + 1][3]));
    }
  }
}

}  // namespace lenslet::fused_lenet5
