// Internal: the convolutions' parameters in the registers of the tensor-core kernels.
#pragma once

#include <cstdint>

#include "models/fused_lenet5/gpu/mma/parameters.h"

namespace lenslet::fused_lenet5 {

/// A lane's part: 72 registers of fp16, 128 of tf32.
template <class Map>
struct MmaConvParameters {
  uint32_t conv1[4 * Map::kConv1Pieces];  // B of [3 blocks of columns][5 rows of taps], the last ones unused
  float conv1_bias[3][4];            // in the four places of D, where the first product of a sum starts from
  uint4 conv2[5][Map::kConv2Steps];  // A of [5 rows of taps][steps]
  float conv2_bias[4];

  __device__ __forceinline__ void load(const unsigned char* packed, int lane) {
    const auto fragment = [&](int at) { return __ldg(reinterpret_cast<const uint4*>(packed + at) + lane); };
    const auto load_bias = [&](float(&places)[4], int at) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(packed + at) + lane);
      places[0] = four.x, places[1] = four.y, places[2] = four.z, places[3] = four.w;
    };
#pragma unroll
    for (int i = 0; i < Map::kConv1Pieces; ++i) {
      const uint4 words = fragment(Map::kConv1 + i * Map::kLane4);
      conv1[4 * i] = words.x, conv1[4 * i + 1] = words.y;
      conv1[4 * i + 2] = words.z, conv1[4 * i + 3] = words.w;
    }
#pragma unroll
    for (int i = 0; i < 3; ++i) load_bias(conv1_bias[i], Map::kConv1Bias + i * Map::kLane4);
#pragma unroll
    for (int i = 0; i < 5 * Map::kConv2Steps; ++i) {
      conv2[i / Map::kConv2Steps][i % Map::kConv2Steps] = fragment(Map::kConv2 + i * Map::kLane4);
    }
    load_bias(conv2_bias, Map::kConv2Bias);
  }
};

}  // namespace lenslet::fused_lenet5
