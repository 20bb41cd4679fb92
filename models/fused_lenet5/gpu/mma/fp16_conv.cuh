// Internal: the convolutional stages of LeNet-5 on tensor cores, one image or two at a time in a warp, fp16 products
// and fp32 sums. `Shared` is MmaFp16Shared: how many images, and how far apart they lie.
#pragma once

#include "framework/instructions/mma.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/mma/conv_parameters.cuh"

namespace lenslet::fused_lenet5 {

/// h1 in shared memory: [12 rows][3 planes][12 columns] of words, a word holds two channels as halves (kPlanes of the
/// packer).
struct MmaH1 {
  static constexpr int kPlaneBytes = 12 * 4, kRowBytes = 3 * kPlaneBytes, kBytes = 12 * kRowBytes;
  static constexpr int kTogetherBytes = 0;
};

/// Two neighbouring pixels as halves, twice. mma reads an operand from four consecutive registers, so a pair that is
/// part of two operands is needed in two registers. Different instructions make the two values; otherwise the compiler
/// would recognise equal values and copy them (48 copies per image).
struct PairTwice {
  uint32_t first, second;
};

__device__ __forceinline__ uint32_t load_pixel_pair(const uint8_t* pixels) {
  return *reinterpret_cast<const uint16_t*>(pixels);
}
__device__ __forceinline__ float2 load_pixel_pair(const float* pixels) {
  return *reinterpret_cast<const float2*>(pixels);
}

/// Returns 1024 + x: 0x6400 is 1024 and its last place is one unit, so bytes are inserted without arithmetic.
__device__ __forceinline__ PairTwice pair_twice(uint32_t two) {
  return {__byte_perm(two, 0x64646464u, 0x4140), __byte_perm(two, 0x64646464u, 0x5150)};
}
__device__ __forceinline__ PairTwice pair_twice(float2 two) {
  const uint32_t halves = pack_halves(two.x, two.y);
  return {halves, halves};
}

/// conv1, ReLU and pooling of kTogether images in shared memory, each with its h1 kPlaceBytes after the one before.
/// Products of several alternate, so that one does not wait for the sums of the other. An image is cut into 24 strips
/// of 8 columns of pixels x 10 rows, from which come 4 columns x 6 rows of outputs. A product is pixels [16, K] x
/// filters [K, 24]: rows g and g + 8 are strip g of a set, at one row of pixels and at the next; columns are six
/// channels at four neighbouring positions, ordered (kMmaConv1Channels) so that a lane ends up with the four positions
/// of a pooling window, of three channels.
template <typename Shared, typename Pixel>
__device__ __forceinline__ void mma_conv1(const Pixel* image, const MmaConvParameters<MmaFp16Map>& parameters,
                                          unsigned char* h1, int lane) {
  constexpr int kTogether = Shared::kTogether,
                kPlacePixels = Shared::kPlaceBytes / static_cast<int>(sizeof(Pixel));
  const int g = lane / 4, t = lane % 4;
  decltype(load_pixel_pair(image)) pixels[kTogether][10];
  const auto read = [&](int set) {
    // Strips in this order: no two lanes of a set read different words of one bank.
    const int strip = set * 8 + g, quarter = strip / 6, column = strip % 6;
    const Pixel* corner = image + quarter * 6 * 28 + column * 4 + t * 2;
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int i = 0; i < 10; ++i) pixels[k][i] = load_pixel_pair(corner + k * kPlacePixels + i * 28);
    }
  };
#pragma unroll
  for (int set = 0; set < 3; ++set) {
    if (set == 0 || !Shared::kReadsAhead) read(set);
    // Operand A of two rows of taps: pixel rows 2i, 2i + 1 and 2i + 1, 2i + 2.
    uint4 rows[kTogether][5];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int i = 0; i < 5; ++i) {
        const PairTwice even = pair_twice(pixels[k][2 * i]), odd = pair_twice(pixels[k][2 * i + 1]);
        rows[k][i].x = even.first;
        rows[k][i].y = odd.first;
        rows[k][i].z = odd.second;
        if (i > 0) rows[k][i - 1].w = even.second;
      }
    }
    // The compiler does not move reads before the stores of h1 below.
    if (set < 2 && Shared::kReadsAhead) read(set + 1);
    const int strip = set * 8 + g, quarter = strip / 6, column = strip % 6;
    // Lanes t / 2 = 0 hold channels 0, 1 (plane 0) and 2 (half of plane 1), the others 3, 4 (plane 2) and 5.
    unsigned char* place = h1 + quarter * 3 * MmaH1::kRowBytes + (column * 2 + t % 2) * 4;
    unsigned char* pair_place = place + t / 2 * 2 * MmaH1::kPlaneBytes;
    unsigned char* single_place = place + MmaH1::kPlaneBytes + t / 2 * 2;
#pragma unroll
    for (int y = 0; y < 3; ++y) {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        float pooled[3];
#pragma unroll
        for (int block = 0; block < 3; ++block) {
          const uint32_t* weight = parameters.conv1 + block * 5;
          float sums[4];
          multiply_fp16(sums, rows[k][y], weight[0], weight[1], parameters.conv1_bias[block]);
          multiply_fp16(sums, rows[k][y + 1], weight[2], weight[3], sums);
          multiply_fp16(sums, rows[k][y + 2].x, rows[k][y + 2].y, weight[4], sums);
          pooled[block] = relu_pool_bits(sums[0], sums[1], sums[2], sums[3]);
        }
        const int at = k * Shared::kPlaceBytes + y * MmaH1::kRowBytes;
        *reinterpret_cast<uint32_t*>(pair_place + at) = pack_halves(pooled[0], pooled[1]);
        *reinterpret_cast<__half*>(single_place + at) = __float2half_rn(pooled[2]);
      }
    }
  }
}

/// conv2, ReLU and pooling of kTogether images: of each a lane returns channels g and g + 8 as pairs of halves, at
/// column t and rows 0..3. A product is filters [16, K] x h1 [K, a row of 8 positions]. Operand B needs no im2col: a
/// lane reads each of its words of h1 once and uses row i for the output rows i - 4 to i.
template <typename Shared>
__device__ __forceinline__ void mma_conv2(const unsigned char* h1,
                                          const MmaConvParameters<MmaFp16Map>& parameters,
                                          uint4 (&results)[Shared::kTogether], int lane) {
  constexpr int kTogether = Shared::kTogether;
  const int g = lane / 4, t = lane % 4;
  const unsigned char* first = h1 + (g + t) * 4;  // taps s = t of a plane
  // Tap s = 4 of plane t. There is no plane 3: the weights of t = 3 are zeros.
  const unsigned char* last = h1 + (g + 4) * 4 + min(t, 2) * MmaH1::kPlaneBytes;
  uint32_t rows[kTogether][12][4];
  const auto read_row = [&](int k, int i) {
    const int at = k * Shared::kPlaceBytes + i * MmaH1::kRowBytes;
#pragma unroll
    for (int plane = 0; plane < 3; ++plane) {
      rows[k][i][plane] = *reinterpret_cast<const uint32_t*>(first + at + plane * MmaH1::kPlaneBytes);
    }
    rows[k][i][3] = *reinterpret_cast<const uint32_t*>(last + at);
  };
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int k = 0; k < kTogether; ++k) read_row(k, i);
  }
  uint32_t pooled[kTogether][4];
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    float sums[kTogether][2][4];  // output rows 2y and 2y + 1
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      read_row(k, 2 * y + 4);
      read_row(k, 2 * y + 5);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[k][0][e] = sums[k][1][e] = parameters.conv2_bias[e];
    }
#pragma unroll
    for (int r = 0; r < 5; ++r) {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint32_t* row = rows[k][2 * y + i + r];
          multiply_fp16(sums[k][i], parameters.conv2[r][0], row[0], row[1], sums[k][i]);
          multiply_fp16(sums[k][i], parameters.conv2[r][1], row[2], row[3], sums[k][i]);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const auto& m = sums[k];
      pooled[k][y] = pack_halves(relu_pool_bits(m[0][0], m[0][1], m[1][0], m[1][1]),
                                 relu_pool_bits(m[0][2], m[0][3], m[1][2], m[1][3]));
    }
  }
#pragma unroll
  for (int k = 0; k < kTogether; ++k) results[k] = {pooled[k][0], pooled[k][1], pooled[k][2], pooled[k][3]};
}

}  // namespace lenslet::fused_lenet5
