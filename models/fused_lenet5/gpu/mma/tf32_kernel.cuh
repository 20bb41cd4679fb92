// Internal: LeNet-5 on tensor cores, tf32 products and fp32 sums. Formula and sources: ../mma.cu.
#pragma once

#include "models/fused_lenet5/gpu/mma/in_out.cuh"
#include "models/fused_lenet5/gpu/mma/tf32_conv.cuh"

namespace lenslet::fused_lenet5 {

/// Shared memory of a block: activations of its 64 images, then the part of each warp. Pitches are 16 words modulo 32,
/// so that the 16-byte pieces of two neighbouring images are in different banks.
template <typename Pixel>
struct MmaTf32Shared {
  /// A lane then has 255 registers, and each warp has one tile of fc1's outputs.
  static constexpr int kWarps = 8;
  static constexpr int kImages = kWarps * kMmaImagesPerRound;
  static constexpr int kH2Pitch = 256 + 16, kF1Pitch = 128 + 16,
                       kF2Pitch = 96 + 16;  // floats; f2 takes h2's place
  static constexpr int kImageBytes = kPixels * static_cast<int>(sizeof(Pixel));
  static constexpr int kWarpBytes = kImageBytes + MmaTf32H1::kBytes;
  static constexpr int kBlockBytes = kImages * (kH2Pitch + kF1Pitch) * 4;
  static constexpr int kBytes = kBlockBytes + kWarps * kWarpBytes;
  static_assert(kF2Pitch <= kH2Pitch && kWarps >= MmaTf32Map::kFc1Tiles,
                "f2 must fit into h2, and fc1 needs a warp per tile");
};

/// One tile of 16 outputs for kTiles x 8 images: the weights' fragments from global memory, the activations
/// [images][pitch] from shared memory, 16 bytes a lane for two steps.
template <int kTiles, int kSteps>
__device__ __forceinline__ void mma_tf32_layer(const unsigned char* weights, const float* bias,
                                               const float* activations, int pitch, float (&sums)[kTiles][4],
                                               int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    sums[tile][0] = sums[tile][1] = __ldg(bias + g);
    sums[tile][2] = sums[tile][3] = __ldg(bias + g + 8);
  }
  const auto* fragments = reinterpret_cast<const uint4*>(weights) + lane;
#pragma unroll 4
  for (int step = 0; step < kSteps; step += 2) {
    const uint4 a0 = __ldg(fragments + step * 32), a1 = __ldg(fragments + step * 32 + 32);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint4 b =
          *reinterpret_cast<const uint4*>(activations + (tile * 8 + g) * pitch + step * 8 + t * 4);
      multiply_tf32(sums[tile], a0, b.x, b.y, sums[tile]);
      multiply_tf32(sums[tile], a1, b.z, b.w, sums[tile]);
    }
  }
}

/// relu(D) of those tiles to activations [images][pitch], rounded to tf32; `output` is the first of the 16.
template <int kTiles>
__device__ __forceinline__ void mma_tf32_store(const float (&sums)[kTiles][4], float* activations, int pitch,
                                               int output, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      activations[(tile * 8 + 2 * t + e % 2) * pitch + output + g + e / 2 * 8] =
          __uint_as_float(round_to_tf32(relu_bits(sums[tile][e])));
    }
  }
}

// computes    logits [count, 10] or predictions [count] of images [count, 28, 28], the whole network
// work split  persistent blocks of 8 warps, one per multiprocessor; a warp convolves up to 8 images, one after another;
//             then the block computes the fully connected layers of its 64 images, a warp 16 outputs of fc1 and fc2 and
//             8 images of fc3
// memory      shared: activations of 64 images between the layers, and each warp's image and h1; registers: both
//             convolutions' weights; the fully connected weights, 185 KB, are read from L2 once per 64 images
// requires    compute capability 8.0, MmaTf32Shared::kBytes of shared memory (checked by mma.cu); images 16-byte
//             aligned (Executable::run checks)
// measured    H100, 1,048,576 images of bytes, predictions: 3,827 us = 274.0 M images/s
//             (docs/results/2026-11-27-h100/bench.json)
template <typename Pixel, typename Output>
__global__ void __launch_bounds__(MmaTf32Shared<Pixel>::kWarps * 32, 1)
    fused_lenet5_mma_tf32_kernel(const Pixel* __restrict__ images,  // [count, 28, 28]
                                 int64_t count, int images_per_round,
                                 const unsigned char* __restrict__ packed,  // [MmaTf32Map::kBytes]
                                 Output* __restrict__ output,               // [count, 10] or [count]
                                 float* __restrict__ probabilities) {       // [count], or null: in the output
  using Shared = MmaTf32Shared<Pixel>;
  using Map = MmaTf32Map;
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  auto* h2 = reinterpret_cast<float*>(shared);
  float* f1 = h2 + Shared::kImages * Shared::kH2Pitch;
  float* f2 = h2;
  unsigned char* own = shared + Shared::kBlockBytes + warp * Shared::kWarpBytes;
  const Pixel* image = reinterpret_cast<const Pixel*>(own);
  auto* h1 = reinterpret_cast<float*>(own + Shared::kImageBytes);
  const auto fetch = [&](int64_t index) {
    if (index < count) mma_fetch(images + index * kPixels, shared_address(image), lane);
    commit_copies();
  };
  const auto* bias = reinterpret_cast<const float*>(packed + Map::kFcBias);

  const int64_t stride = int64_t{Shared::kWarps} * gridDim.x * images_per_round;
  int64_t first = (int64_t{warp} * gridDim.x + blockIdx.x) * images_per_round;
  fetch(first);
  MmaConvParameters<MmaTf32Map> parameters;
  parameters.load(packed, lane);
  wait_for_copies<0>();

  // Warp 0 has the block's first images: if it has none, no other warp has any.
  for (int64_t of_warp_0 = int64_t{blockIdx.x} * images_per_round; of_warp_0 < count;
       of_warp_0 += stride, first += stride) {
    const int in_round = static_cast<int>(max(int64_t{0}, min(int64_t{images_per_round}, count - first)));
    for (int i = 0; i < in_round; ++i) {
      __syncwarp();
      mma_tf32_conv1(image, parameters, h1, lane);
      __syncwarp();
      fetch(i + 1 < in_round ? first + i + 1 : first + stride);
      float low[4], high[4];
      mma_tf32_conv2(h1, parameters, low, high, lane);
      auto* pieces =
          reinterpret_cast<float4*>(h2 + (warp * kMmaImagesPerRound + i) * Shared::kH2Pitch) + lane;
      pieces[0] = make_float4(low[0], low[1], low[2], low[3]);
      pieces[32] = make_float4(high[0], high[1], high[2], high[3]);
      wait_for_copies<0>();
    }
    __syncthreads();
    {
      float sums[Shared::kWarps][4];
      mma_tf32_layer<Shared::kWarps, Map::kFc1Steps>(packed + Map::kFc1 + warp * Map::kFc1Steps * Map::kLane4,
                                                     bias + warp * 16, h2, Shared::kH2Pitch, sums, lane);
      mma_tf32_store(sums, f1, Shared::kF1Pitch, warp * 16, lane);
    }
    __syncthreads();
    if (warp < Map::kFc2Tiles) {
      float sums[Shared::kWarps][4];
      mma_tf32_layer<Shared::kWarps, Map::kFc2Steps>(packed + Map::kFc2 + warp * Map::kFc2Steps * Map::kLane4,
                                                     bias + (Map::kFc1Tiles + warp) * 16, f1,
                                                     Shared::kF1Pitch, sums, lane);
      mma_tf32_store(sums, f2, Shared::kF2Pitch, warp * 16, lane);
    }
    __syncthreads();
    float logits[1][4];
    mma_tf32_layer<1, Map::kFc3Steps>(packed + Map::kFc3, bias + (Map::kFc1Tiles + Map::kFc2Tiles) * 16,
                                      f2 + warp * kMmaImagesPerRound * Shared::kF2Pitch, Shared::kF2Pitch,
                                      logits, lane);
    mma_write_logits(logits, f1 + warp * kMmaImagesPerRound * kClasses, in_round, output, probabilities,
                     first, lane);
    __syncthreads();  // until f2 has been read: h2 then overwrites it
  }
}

}  // namespace lenslet::fused_lenet5
