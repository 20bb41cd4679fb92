// Internal: the convolutional stages of LeNet-5 on tensor cores, one image per warp, tf32 products and fp32 sums. As in
// mma/fp16_conv.cuh, but a product is half as deep, and h1 is fp32 with one plane per channel.
#pragma once

#include "framework/instructions/mma.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/mma/conv_parameters.cuh"

namespace lenslet::fused_lenet5 {

/// h1 in shared memory: [12 rows][6 channels][12 columns], rounded to tf32.
struct MmaTf32H1 {
  static constexpr int kPlane = 12, kRow = 6 * kPlane, kBytes = 12 * kRow * 4;
};

/// A byte as 256 + x: 256 is 0x43800000, where x begins 8 places below the leading one. A normalised pixel is rounded.
__device__ __forceinline__ uint32_t load_pixel_tf32(const uint8_t* pixel) {
  return 0x43800000u + (uint32_t{*pixel} << 15);
}
__device__ __forceinline__ uint32_t load_pixel_tf32(const float* pixel) { return round_to_tf32(*pixel); }

/// conv1, ReLU and pooling of one image in shared memory; strips, rows and columns of the products as in mma_conv1.
template <typename Pixel>
__device__ __forceinline__ void mma_tf32_conv1(const Pixel* image,
                                               const MmaConvParameters<MmaTf32Map>& parameters, float* h1,
                                               int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int set = 0; set < 3; ++set) {
    const int strip = set * 8 + g, quarter = strip / 6, column = strip % 6;
    const Pixel* corner = image + quarter * 6 * 28 + column * 4 + t;
    uint32_t left[10], right[10];  // columns t and t + 4 of a strip's rows
#pragma unroll
    for (int i = 0; i < 10; ++i) {
      left[i] = load_pixel_tf32(corner + i * 28);
      right[i] = load_pixel_tf32(corner + i * 28 + 4);
    }
    float* place = h1 + quarter * 3 * MmaTf32H1::kRow + t / 2 * 3 * MmaTf32H1::kPlane + column * 2 + t % 2;
#pragma unroll
    for (int y = 0; y < 3; ++y) {
#pragma unroll
      for (int block = 0; block < 3; ++block) {
        const uint32_t* weight = parameters.conv1 + block * 10;
        float sums[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[e] = parameters.conv1_bias[block][e];
#pragma unroll
        for (int r = 0; r < 5; ++r) {
          const int i = 2 * y + r;
          multiply_tf32(sums, {left[i], left[i + 1], right[i], right[i + 1]}, weight[2 * r],
                        weight[2 * r + 1], sums);
        }
        place[y * MmaTf32H1::kRow + block * MmaTf32H1::kPlane] =
            __uint_as_float(round_to_tf32(relu_pool_bits(sums[0], sums[1], sums[2], sums[3])));
      }
    }
  }
}

/// conv2, ReLU and pooling of one image: a lane gets channels g and g + 8, at column t and rows 0..3, rounded to tf32.
__device__ __forceinline__ void mma_tf32_conv2(const float* h1,
                                               const MmaConvParameters<MmaTf32Map>& parameters,
                                               float (&low)[4], float (&high)[4], int lane) {
  const int g = lane / 4, t = lane % 4;
  const float* first = h1 + g + t;                                   // taps s = t of a channel
  const float* last = h1 + g + 4 + t * MmaTf32H1::kPlane;            // tap s = 4 of channel t
  const float* rest = h1 + g + 4 + (4 + t % 2) * MmaTf32H1::kPlane;  // and of 4 + t; zero weights for t > 1
  uint32_t rows[12][8];
  const auto read_row = [&](int i) {
#pragma unroll
    for (int channel = 0; channel < 6; ++channel) {
      rows[i][channel] = __float_as_uint(first[i * MmaTf32H1::kRow + channel * MmaTf32H1::kPlane]);
    }
    rows[i][6] = __float_as_uint(last[i * MmaTf32H1::kRow]);
    rows[i][7] = __float_as_uint(rest[i * MmaTf32H1::kRow]);
  };
#pragma unroll
  for (int i = 0; i < 4; ++i) read_row(i);
#pragma unroll
  for (int y = 0; y < 4; ++y) {
    read_row(2 * y + 4);
    read_row(2 * y + 5);
    float sums[2][4];  // output rows 2y and 2y + 1
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[0][e] = sums[1][e] = parameters.conv2_bias[e];
#pragma unroll
    for (int r = 0; r < 5; ++r) {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint32_t* row = rows[2 * y + i + r];
          multiply_tf32(sums[i], parameters.conv2[r][step], row[2 * step], row[2 * step + 1], sums[i]);
        }
      }
    }
    low[y] = __uint_as_float(round_to_tf32(relu_pool_bits(sums[0][0], sums[0][1], sums[1][0], sums[1][1])));
    high[y] = __uint_as_float(round_to_tf32(relu_pool_bits(sums[0][2], sums[0][3], sums[1][2], sums[1][3])));
  }
}

}  // namespace lenslet::fused_lenet5
