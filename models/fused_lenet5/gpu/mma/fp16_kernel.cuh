// Internal: LeNet-5 on tensor cores, fp16 products and fp32 sums, 8 images per warp. docs/kernels/fused_lenet.md has a
// diagram of the data flow. Formula and sources: ../mma.cu.
#pragma once

#include "models/fused_lenet5/gpu/mma/fp16_conv.cuh"
#include "models/fused_lenet5/gpu/mma/in_out.cuh"

namespace lenslet::fused_lenet5 {

/// Shared memory of a block: the fully connected layers' parameters, then the part of each warp.
template <typename Pixel, int kWarps>
struct MmaFp16Shared {
  static constexpr int kImageBytes = kPixels * static_cast<int>(sizeof(Pixel));
  // h2 [8 images][32 pieces of 16 bytes]: piece `lane` is what that lane of mma_conv2 returns. The pitch puts the
  // pieces of two images that are read together into different banks.
  static constexpr int kH2Pitch = 512 + 64, kH2Bytes = kMmaImagesPerRound * kH2Pitch;
  static constexpr int kWarpBytes = kImageBytes + MmaH1::kBytes + kH2Bytes;
  static constexpr int kBytes = MmaFp16Map::kFcBytes + kWarps * kWarpBytes;
};

/// The fully connected layers of 8 images, as weights [16 outputs a tile, inputs] x activations [inputs, 8 images].
/// What a product leaves in D becomes the next one's operand B by a transposition of 8 x 8 halves; nothing goes through
/// memory. The lane gets the logits of classes g and, for g < 2, g + 8 of images 2t and 2t + 1.
__device__ __forceinline__ void mma_fully_connected(const unsigned char* packed, const unsigned char* h2,
                                                    int h2_pitch, float (&logits)[4], int lane) {
  using Map = MmaFp16Map;
  const int g = lane / 4, t = lane % 4;
  const auto fragment = [&](int at) { return *reinterpret_cast<const uint4*>(packed + at + lane * 16); };
  const auto half_fragment = [&](int at) { return *reinterpret_cast<const uint2*>(packed + at + lane * 8); };
  const auto start = [&](float(&sums)[4], int tile) {
    const auto* bias = reinterpret_cast<const float*>(packed + Map::kFcBias) + tile * 16 + g;
    sums[0] = sums[1] = bias[0];
    sums[2] = sums[3] = bias[8];
  };
  const auto hand_on = [](uint32_t* b, const float(&sums)[4]) {
    b[0] = transpose_8x8(pack_positive(sums[0], sums[1]));
    b[1] = transpose_8x8(pack_positive(sums[2], sums[3]));
  };

  uint32_t f1[2 * Map::kFc1Tiles];
  {
    float sums[Map::kFc1Tiles][4];
#pragma unroll
    for (int tile = 0; tile < Map::kFc1Tiles; ++tile) start(sums[tile], tile);
#pragma unroll
    for (int step = 0; step < Map::kFc1Steps; step += 2) {
      const uint4 b = *reinterpret_cast<const uint4*>(h2 + g * h2_pitch + (step * 2 + t) * 16);
#pragma unroll
      for (int tile = 0; tile < Map::kFc1Tiles; ++tile) {
        const int at = Map::kFc1 + (tile * Map::kFc1Steps + step) * Map::kLane4;
        multiply_fp16(sums[tile], fragment(at), b.x, b.y, sums[tile]);
        multiply_fp16(sums[tile], fragment(at + Map::kLane4), b.z, b.w, sums[tile]);
      }
    }
#pragma unroll
    for (int tile = 0; tile < Map::kFc1Tiles; ++tile) hand_on(f1 + 2 * tile, sums[tile]);
  }

  uint32_t f2[2 * Map::kFc2Tiles];
#pragma unroll
  for (int tile = 0; tile < Map::kFc2Tiles; ++tile) {
    float sums[4];
    start(sums, Map::kFc1Tiles + tile);
#pragma unroll
    for (int step = 0; step < Map::kFc2Steps; ++step) {
      multiply_fp16(sums, fragment(Map::kFc2 + (tile * Map::kFc2Steps + step) * Map::kLane4), f1[2 * step],
                    f1[2 * step + 1], sums);
    }
    const uint2 rest = half_fragment(Map::kFc2Last + tile * Map::kLane2);
    multiply_fp16(sums, rest.x, rest.y, f1[2 * Map::kFc2Steps], sums);
    hand_on(f2 + 2 * tile, sums);
  }

  start(logits, Map::kFc1Tiles + Map::kFc2Tiles);
#pragma unroll
  for (int step = 0; step < Map::kFc3Steps; ++step) {
    multiply_fp16(logits, fragment(Map::kFc3 + step * Map::kLane4), f2[2 * step], f2[2 * step + 1], logits);
  }
  const uint2 rest = half_fragment(Map::kFc3Last);
  multiply_fp16(logits, rest.x, rest.y, f2[2 * Map::kFc3Steps], logits);
}

// computes    logits [count, 10] or predictions [count] of images [count, 28, 28], the whole network
// work split  persistent blocks, one per multiprocessor; a warp convolves up to 8 images, one after another, then
//             computes their fully connected layers together; after the first round warps never wait for each other
// memory      shared: 92 KB of fully connected weights in fragments, and each warp's image, h1 [12, 3, 12] words and h2
//             [8, 128] words of two halves; registers: both convolutions' weights; the next image is copied meanwhile
// requires    compute capability 8.0, MmaFp16Shared::kBytes of shared memory (checked by mma.cu); images 16-byte
//             aligned (Executable::run checks)
// measured    H100, 1,048,576 images of bytes, predictions: 1,711 us = 613.0 M images/s
//             (docs/results/2026-11-27-h100/bench.json)
template <typename Pixel, typename Output, int kWarps>
__global__ void __launch_bounds__(kWarps * 32, 1)
    fused_lenet5_mma_fp16_kernel(const Pixel* __restrict__ images,  // [count, 28, 28]
                                 int64_t count, int images_per_round,
                                 const unsigned char* __restrict__ packed,  // [MmaFp16Map::kBytes]
                                 Output* __restrict__ output,               // [count, 10] or [count]
                                 float* __restrict__ probabilities) {       // [count], or null: in the output
  using Shared = MmaFp16Shared<Pixel, kWarps>;
  constexpr int kFcBytes = MmaFp16Map::kFcBytes;
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  unsigned char* own = shared + kFcBytes + warp * Shared::kWarpBytes;
  const Pixel* image = reinterpret_cast<const Pixel*>(own);
  unsigned char* h1 = own + Shared::kImageBytes;
  unsigned char* h2 = h1 + MmaH1::kBytes;
  const auto fetch = [&](int64_t index) {
    if (index < count) mma_fetch(images + index * kPixels, shared_address(image), lane);
    commit_copies();
  };

  // Blocks take rounds in turn, so that a small batch uses all multiprocessors.
  const int64_t stride = int64_t{kWarps} * gridDim.x * images_per_round;
  int64_t first = (int64_t{warp} * gridDim.x + blockIdx.x) * images_per_round;
  fetch(first);
  for (int i = static_cast<int>(threadIdx.x) * 16; i < kFcBytes; i += kWarps * 32 * 16) {
    copy_async_16(shared_address(shared + i), reinterpret_cast<const float*>(packed + i));
  }
  commit_copies();
  MmaConvParameters<MmaFp16Map> parameters;
  parameters.load(packed, lane);
  wait_for_copies<1>();  // the image; the weights arrive while it is convolved

  // Warps without images also run the first round, because all warps wait in it for the weights that they copied.
  for (bool weights_are_there = false; !weights_are_there || first < count; first += stride) {
    const int in_round = static_cast<int>(max(int64_t{0}, min(int64_t{images_per_round}, count - first)));
    for (int i = 0; i < in_round; ++i) {
      __syncwarp();
      mma_conv1(image, parameters, h1, lane);
      __syncwarp();
      fetch(i + 1 < in_round ? first + i + 1 : first + stride);
      *reinterpret_cast<uint4*>(h2 + i * Shared::kH2Pitch + lane * 16) = mma_conv2(h1, parameters, lane);
      wait_for_copies<0>();
    }
    if (!weights_are_there) {
      wait_for_copies<0>();
      __syncthreads();
      weights_are_there = true;
    }
    if (in_round == 0) break;
    __syncwarp();
    float logits[4];
    mma_fully_connected(shared, h2, Shared::kH2Pitch, logits, lane);
    __syncwarp();  // h2 has been read
    mma_write_logits(logits, reinterpret_cast<float*>(h2), in_round, output, probabilities, first, lane);
  }
}

}  // namespace lenslet::fused_lenet5
