// Internal: the convolutional stages of LeNet-5 on tensor cores in 8-bit integers, two images at a time in a warp.
// int32 sums are exact, so the order of products changes nothing. What is rounded, and where: ../../quantise.h.
#pragma once

#include "framework/instructions/mma.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/mma/parameters.h"

namespace lenslet::fused_lenet5 {

/// h1 of two images in shared memory, their bytes in turns, so that a lane stores its part of both at once: 12 rows of
/// 12 columns of two words, of channels 0 and 1 and of channels 2 and 3. Then, at kPairs, 12 rows of a word for each
/// column, of channels 4 and 5; they have the same pitch, so that every lane of conv2 reads at the same distance, and
/// the gap puts the words that are read together into different banks.
struct MmaInt8H1 {
  static constexpr int kRowBytes = 12 * 8, kPairs = 12 * kRowBytes + 96;
  static constexpr int kBytes = 0, kTogetherBytes = kPairs + 12 * kRowBytes;
};

/// A lane's part of the convolutions' parameters: 55 registers.
struct MmaInt8ConvParameters {
  uint32_t conv1[4 * MmaInt8Map::kConv1Pieces];  // B of [3 blocks of columns][2 rows of outputs][3 words]
  int32_t conv1_bias[3];                         // above kInt8Zero
  float conv1_scale[3], conv1_offset[3];
  uint4 conv2[5];         // A of [5 rows of taps]
  int32_t conv2_bias[2];  // above kInt8Zero
  float conv2_scale[2], conv2_offset[2];

  __device__ __forceinline__ void load(const unsigned char* packed, int lane) {
    using Map = MmaInt8Map;
    const auto fragment = [&](int at) { return __ldg(reinterpret_cast<const uint4*>(packed + at) + lane); };
    const auto floats = [&](int at) { return __ldg(reinterpret_cast<const float4*>(packed + at) + lane); };
#pragma unroll
    for (int i = 0; i < Map::kConv1Pieces; ++i) {
      const uint4 words = fragment(Map::kConv1 + i * Map::kLane4);
      conv1[4 * i] = words.x, conv1[4 * i + 1] = words.y;
      conv1[4 * i + 2] = words.z, conv1[4 * i + 3] = words.w;
    }
    // Loads of one word each: with fewer, wider ones a pass of 65,536 images took longer.
#pragma unroll
    for (int i = 0; i < 3; ++i)
      conv1_bias[i] = static_cast<int32_t>(fragment(Map::kConv1Bias + i * Map::kLane4).x);
    const float4 scale = floats(Map::kConv1Scale), offset = floats(Map::kConv1Scale + Map::kLane4);
    conv1_scale[0] = scale.x, conv1_scale[1] = scale.y, conv1_scale[2] = scale.z;
    conv1_offset[0] = offset.x, conv1_offset[1] = offset.y, conv1_offset[2] = offset.z;
#pragma unroll
    for (int i = 0; i < 5; ++i) conv2[i] = fragment(Map::kConv2 + i * Map::kLane4);
    const uint4 bias = fragment(Map::kConv2Bias);
    conv2_bias[0] = static_cast<int32_t>(bias.x), conv2_bias[1] = static_cast<int32_t>(bias.z);
    const float4 last = floats(Map::kConv2Scale);
    conv2_scale[0] = last.x, conv2_scale[1] = last.y, conv2_offset[0] = last.z, conv2_offset[1] = last.w;
  }
};

/// 2x2 pooling of sums, bias and ReLU, as the float that has these bits: 1.5 * 2^23 + the result. `bias` is above
/// kInt8Zero. Sums start from zero instead of the bias, which was faster.
__device__ __forceinline__ float int8_pool_relu(int32_t a, int32_t b, int32_t c, int32_t d, int32_t bias) {
  return __int_as_float(__viaddmax_s32(max(max(a, b), max(c, d)), bias, kInt8Zero));
}

/// conv1, ReLU and pooling of two images in shared memory, kPlaceBytes apart. A product is pixels [16, 48] x filters
/// [48, 24]: rows g and g + 8 are a window of 6 rows x 8 columns of the first and of the second image, columns are six
/// channels at four neighbouring positions of one row of outputs, ordered (kMmaInt8Conv1Channels) so that a lane ends
/// up with two positions, of three channels. The row below has products of its own, with the same pixels. A lane's
/// words are pixels as they are: four neighbours of one row.
template <typename Shared>
__device__ __forceinline__ void mma_conv1(const uint8_t* image, const MmaInt8ConvParameters& parameters,
                                          unsigned char* h1, int lane) {
  static_assert(Shared::kTogether == 2);
  const int g = lane / 4, t = lane % 4;
  // Windows 8 q + g of 72, 12 rows of 6; 24 windows are four rows.
  constexpr int kSets = 9, kPeriod = 3;
  uint4 words[2];
  uint2 last[2];
  const uint8_t* corner[kPeriod];
  unsigned char* place[kPeriod];
#pragma unroll
  for (int i = 0; i < kPeriod; ++i) {
    const int window = i * 8 + g, row = window / 6, column = window % 6;
    corner[i] = image + (2 * row + t / 2) * 28 + column * 4 + t % 2 * 4;
    place[i] = h1 + row * MmaInt8H1::kRowBytes + t / 2 * 4 + (column * 2 + t % 2) * 8;
  }
  const auto read = [&](int set, int into) {
    const auto word = [&](int k, int j) {
      return *reinterpret_cast<const uint32_t*>(corner[set % kPeriod] + set / kPeriod * 8 * 28 +
                                                k * Shared::kPlaceBytes + j * 2 * 28);
    };
    words[into] = {word(0, 0), word(1, 0), word(0, 1), word(1, 1)};
    last[into] = {word(0, 2), word(1, 2)};
  };
  const auto multiply = [&](int32_t(&sums)[3][2][4], int from) {
    constexpr int32_t kNone[4] = {0, 0, 0, 0};
#pragma unroll
    for (int block = 0; block < 3; ++block) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const uint32_t* weight = parameters.conv1 + (block * 2 + row) * 3;
        multiply_u8_s8(sums[block][row], words[from], weight[0], weight[1], kNone);
      }
    }
#pragma unroll
    for (int block = 0; block < 3; ++block) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const uint32_t* weight = parameters.conv1 + (block * 2 + row) * 3;
        multiply_u8_s8(sums[block][row], last[from].x, last[from].y, weight[2], sums[block][row]);
      }
    }
  };
  const auto store = [&](const int32_t(&sums)[3][2][4], int set) {
    uint32_t bytes[2][3];  // each in the lowest byte
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll
      for (int block = 0; block < 3; ++block) {
        const auto& m = sums[block];
        const float pooled = int8_pool_relu(m[0][2 * k], m[0][2 * k + 1], m[1][2 * k], m[1][2 * k + 1],
                                            parameters.conv1_bias[block]);
        bytes[k][block] =
            __float_as_uint(fmaf(pooled, parameters.conv1_scale[block], parameters.conv1_offset[block]));
      }
    }
    const auto both = [&](int block) { return __byte_perm(bytes[0][block], bytes[1][block], 0x40); };
    unsigned char* at = place[set % kPeriod] + set / kPeriod * 4 * MmaInt8H1::kRowBytes;
    *reinterpret_cast<uint32_t*>(at) = __byte_perm(both(0), both(1), 0x5410);
    // `at` is at column x, half of the lanes at its second word.
    const int window = set % kPeriod * 8 + g, x = window % 6 * 2 + t % 2;
    unsigned char* pair = at - x * 4 - t / 2 * 2 + MmaInt8H1::kPairs;
    *reinterpret_cast<uint16_t*>(pair) = static_cast<uint16_t>(both(2));
  };
  // The products of the next set start before the sums of the last one are used, and before these products the pixels
  // after them are read: the compiler moves no product before another one and no read before a store.
  int32_t sums[2][3][2][4];
  read(0, 0);
  read(1, 1);
  multiply(sums[0], 0);
#pragma unroll
  for (int set = 0; set < kSets; ++set) {
    if (set + 2 < kSets) read(set + 2, set % 2);
    if (set + 1 < kSets) multiply(sums[(set + 1) % 2], (set + 1) % 2);
    store(sums[set % 2], set);
  }
}

/// conv2, ReLU and pooling of two images: of each a lane returns channels g and g + 8 as pairs of halves, at column t
/// and rows 0..3. A product is filters [16, 32] x h1 [32, a row of 8 positions]: one row of taps, of which lanes t hold
/// s = t of channels 0 to 3, then s = 4 of these (t = 0) and s = 2t - 2 and 2t - 1 of channels 4 and 5.
template <typename Shared>
__device__ __forceinline__ void mma_conv2(const unsigned char* h1, const MmaInt8ConvParameters& parameters,
                                          uint4 (&results)[Shared::kTogether], int lane) {
  constexpr int kTogether = Shared::kTogether;
  static_assert(kTogether == 2);
  const int g = lane / 4, t = lane % 4;
  const unsigned char* first = h1 + (g + t) * 8;
  // Nothing was stored in column 12, which the weights of t = 3 multiply by zeros.
  const unsigned char* second = h1 + (t == 0 ? (g + 4) * 8 : MmaInt8H1::kPairs + (g + 2 * t - 2) * 4);
  uint2 rows[kTogether][12];
  const auto read_row = [&](int i) {
    const int at = i * MmaInt8H1::kRowBytes;
    const uint2 low = *reinterpret_cast<const uint2*>(first + at);
    const uint32_t high[2] = {*reinterpret_cast<const uint32_t*>(second + at),
                              *reinterpret_cast<const uint32_t*>(second + at + 4)};
    rows[0][i] = {__byte_perm(low.x, low.y, 0x6420), __byte_perm(high[0], high[1], 0x6420)};
    rows[1][i] = {__byte_perm(low.x, low.y, 0x7531), __byte_perm(high[0], high[1], 0x7531)};
  };
#pragma unroll
  for (int i = 0; i < 6; ++i) read_row(i);
  uint32_t pooled[kTogether][4];
  constexpr int32_t kNone[4] = {0, 0, 0, 0};
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    int32_t sums[kTogether][2][4];  // output rows 2y and 2y + 1
#pragma unroll
    for (int r = 0; r < 5; ++r) {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint2 row = rows[k][2 * y + i + r];
          if (r == 0) {
            multiply_s8_u8(sums[k][i], parameters.conv2[r], row.x, row.y, kNone);
          } else {
            multiply_s8_u8(sums[k][i], parameters.conv2[r], row.x, row.y, sums[k][i]);
          }
        }
      }
      if (r == 0 && y < 3) read_row(2 * y + 6), read_row(2 * y + 7);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const auto& m = sums[k];
      const float low = int8_pool_relu(m[0][0], m[0][1], m[1][0], m[1][1], parameters.conv2_bias[0]);
      const float high = int8_pool_relu(m[0][2], m[0][3], m[1][2], m[1][3], parameters.conv2_bias[1]);
      pooled[k][y] = pack_halves(fmaf(low, parameters.conv2_scale[0], parameters.conv2_offset[0]),
                                 fmaf(high, parameters.conv2_scale[1], parameters.conv2_offset[1]));
    }
  }
#pragma unroll
  for (int k = 0; k < kTogether; ++k) results[k] = {pooled[k][0], pooled[k][1], pooled[k][2], pooled[k][3]};
}

}  // namespace lenslet::fused_lenet5
