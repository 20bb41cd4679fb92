// Internal: LeNet-5 on tensor cores, fp16 products and fp32 sums, 8 or 16 images per warp; its convolutions also in
// 8-bit integers. docs/kernels/fused_lenet_mma.md has a diagram of the data flow. Formula and sources: ../mma.cu.
#pragma once

#include "models/fused_lenet5/gpu/mma/fp16_conv.cuh"
#include "models/fused_lenet5/gpu/mma/in_out.cuh"
#include "models/fused_lenet5/gpu/mma/int8_conv.cuh"

namespace lenslet::fused_lenet5 {

/// The two arithmetics of the convolutions.
struct MmaFp16Convolutions {
  using Map = MmaFp16Map;
  using H1 = MmaH1;
  using Parameters = MmaConvParameters<MmaFp16Map>;
};
struct MmaInt8Convolutions {
  using Map = MmaInt8Map;
  using H1 = MmaInt8H1;
  using Parameters = MmaInt8ConvParameters;
};

/// Shared memory of a block: the fully connected layers' parameters, then the part of each warp: kTogether slots of
/// [kBuffers images, h1], which it convolves together, then h2. If h1 of all is in one piece, it is after the slots.
template <class Convolutions, typename Pixel, int kWarps, int kTogether_, int kEights_>
struct MmaFp16Shared {
  static constexpr int kTogether = kTogether_;
  /// Two images at a time leave two warps for a scheduler. Then conv1 must not wait for pixels: the next images have
  /// buffers of their own, and the pixels of the next products are read before these products.
  static constexpr bool kReadsAhead = kTogether > 1;
  static constexpr int kBuffers = kReadsAhead ? 2 : 1;
  static constexpr int kEights = kEights_, kImages = kEights * kMmaImagesPerRound;  // of a round, at most
  static constexpr int kImageBytes = kPixels * static_cast<int>(sizeof(Pixel));
  static constexpr int kPlaceBytes = kBuffers * kImageBytes + Convolutions::H1::kBytes;
  // h2 [kImages][32 pieces of 16 bytes]: piece `lane` is what that lane of mma_conv2 returns. The pitch puts the
  // pieces of two images that are read together into different banks.
  static constexpr int kH2Pitch = 512 + 64, kH2Bytes = kImages * kH2Pitch;
  static constexpr int kH1TogetherBytes = Convolutions::H1::kTogetherBytes;
  static constexpr int kH1 = kH1TogetherBytes > 0 ? kTogether* kPlaceBytes : kBuffers* kImageBytes;
  static constexpr int kH2 = kTogether * kPlaceBytes + kH1TogetherBytes;
  static constexpr int kWarpBytes = kH2 + kH2Bytes;
  static constexpr int kBytes = MmaFp16Map::kFcBytes + kWarps * kWarpBytes;
};

/// The fully connected layers of kEights x 8 images, as weights [16 outputs a tile, inputs] x activations [inputs, 8
/// images]. A weight is read once for all. What a product leaves in D becomes the next one's operand B by a
/// transposition of 8 x 8 halves; nothing goes through memory. The lane gets the logits of classes g and, for g < 2,
/// g + 8 of images 2t and 2t + 1 of each eight.
template <int kEights>
__device__ __forceinline__ void mma_fully_connected(const unsigned char* packed, const unsigned char* h2,
                                                    int h2_pitch, float (&logits)[kEights][4], int lane) {
  using Map = MmaFp16Map;
  const int g = lane / 4, t = lane % 4;
  const auto fragment = [&](int at) { return *reinterpret_cast<const uint4*>(packed + at + lane * 16); };
  const auto half_fragment = [&](int at) { return *reinterpret_cast<const uint2*>(packed + at + lane * 8); };
  const auto start = [&](float(&sums)[kEights][4], int tile) {
    const auto* bias = reinterpret_cast<const float*>(packed + Map::kFcBias) + tile * 16 + g;
    const float low = bias[0], high = bias[8];
#pragma unroll
    for (int e = 0; e < kEights; ++e) sums[e][0] = sums[e][1] = low, sums[e][2] = sums[e][3] = high;
  };
  const auto multiply = [](float(&sums)[kEights][4], uint4 a, const auto& b, int step) {
#pragma unroll
    for (int e = 0; e < kEights; ++e) multiply_fp16(sums[e], a, b[e][2 * step], b[e][2 * step + 1], sums[e]);
  };
  const auto multiply_rest = [](float(&sums)[kEights][4], uint2 a, const auto& b, int step) {
#pragma unroll
    for (int e = 0; e < kEights; ++e) multiply_fp16(sums[e], a.x, a.y, b[e][2 * step], sums[e]);
  };
  const auto to_operand_b = [](auto& b, int tile, const float(&sums)[kEights][4]) {
#pragma unroll
    for (int e = 0; e < kEights; ++e) {
      b[e][2 * tile] = transpose_8x8(pack_positive(sums[e][0], sums[e][1]));
      b[e][2 * tile + 1] = transpose_8x8(pack_positive(sums[e][2], sums[e][3]));
    }
  };

  uint32_t f1[kEights][2 * Map::kFc1Tiles];
  constexpr int kTiles = Map::kFc1Tiles / kEights;  // at a time: 32 sums of a lane
#pragma unroll
  for (int begin = 0; begin < Map::kFc1Tiles; begin += kTiles) {
    float sums[kTiles][kEights][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) start(sums[tile], begin + tile);
#pragma unroll
    for (int step = 0; step < Map::kFc1Steps; step += 2) {
      uint32_t b[kEights][4];
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
        const uint4 four = *reinterpret_cast<const uint4*>(h2 + (e * 8 + g) * h2_pitch + (step * 2 + t) * 16);
        b[e][0] = four.x, b[e][1] = four.y, b[e][2] = four.z, b[e][3] = four.w;
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const int at = Map::kFc1 + ((begin + tile) * Map::kFc1Steps + step) * Map::kLane4;
        multiply(sums[tile], fragment(at), b, 0);
        multiply(sums[tile], fragment(at + Map::kLane4), b, 1);
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) to_operand_b(f1, begin + tile, sums[tile]);
  }

  uint32_t f2[kEights][2 * Map::kFc2Tiles];
#pragma unroll
  for (int tile = 0; tile < Map::kFc2Tiles; ++tile) {
    float sums[kEights][4];
    start(sums, Map::kFc1Tiles + tile);
#pragma unroll
    for (int step = 0; step < Map::kFc2Steps; ++step) {
      multiply(sums, fragment(Map::kFc2 + (tile * Map::kFc2Steps + step) * Map::kLane4), f1, step);
    }
    multiply_rest(sums, half_fragment(Map::kFc2Last + tile * Map::kLane2), f1, Map::kFc2Steps);
    to_operand_b(f2, tile, sums);
  }

  start(logits, Map::kFc1Tiles + Map::kFc2Tiles);
#pragma unroll
  for (int step = 0; step < Map::kFc3Steps; ++step) {
    multiply(logits, fragment(Map::kFc3 + step * Map::kLane4), f2, step);
  }
  multiply_rest(logits, half_fragment(Map::kFc3Last), f2, Map::kFc3Steps);
}

// computes    logits [count, 10] or predictions [count] of images [count, 28, 28], the whole network
// work split  persistent blocks, one per multiprocessor; a warp convolves up to 8 kTogether images, kTogether (1 or 2)
//             at a time, then computes their fully connected layers together; once the weights have arrived, warps
//             never wait for each other. An odd last image leaves the second slot of its warp with old pixels; nothing
//             computed from that slot is written
// memory      shared: 92 KB of fully connected weights in fragments, and each warp's images, h1 [12, 3, 12] words and
//             h2 [8 kTogether, 128] words of two halves; registers: both convolutions' weights; the next images are
//             copied meanwhile
// requires    compute capability 8.0, MmaFp16Shared::kBytes of shared memory (checked by mma.cu); images 16-byte
//             aligned (Executable::run checks)
// measured    H200, bytes in, predictions out, two images at a time: 65,536 images 115.04 us, 1,048,576 images
//             1600.67 us; one at a time: 10,000 images 23.78 us (docs/results/2026-11-30-h200/bench-batches.json)
template <class Convolutions, typename Pixel, typename Output, int kWarps, int kTogether, int kEights>
__global__ void __launch_bounds__(kWarps * 32, 1)
    fused_lenet5_mma_fp16_kernel(const Pixel* __restrict__ images,  // [count, 28, 28]
                                 int64_t count, int images_per_round,
                                 const unsigned char* __restrict__ packed,  // [Convolutions::Map::kBytes]
                                 Output* __restrict__ output,               // [count, 10] or [count]
                                 float* __restrict__ probabilities) {       // [count], or null: in the output
  using Shared = MmaFp16Shared<Convolutions, Pixel, kWarps, kTogether, kEights>;
  constexpr int kFcBytes = MmaFp16Map::kFcBytes;
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  unsigned char* own = shared + kFcBytes + warp * Shared::kWarpBytes;
  unsigned char* h1 = own + Shared::kH1;
  unsigned char* h2 = own + Shared::kH2;
  const auto fetch = [&](int64_t index, int buffer) {
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      unsigned char* image = own + k * Shared::kPlaceBytes + buffer * Shared::kImageBytes;
      if (index + k < count) mma_fetch(images + (index + k) * kPixels, shared_address(image), lane);
    }
    commit_copies();
  };

  // Blocks take rounds in turn, so that a small batch uses all multiprocessors.
  const int64_t stride = int64_t{kWarps} * gridDim.x * images_per_round;
  int64_t first = (int64_t{warp} * gridDim.x + blockIdx.x) * images_per_round;
  // A round computes images [begin, end) of images_per_round. If the warps of a scheduler reach the fully connected
  // layers together, they wait for shared memory, and with two of them nothing else hides that. So each warp ends its
  // first round at another image.
  int begin = 0, end = images_per_round;
  if (kTogether > 1) {
    const int part = warp * images_per_round / kWarps / kTogether * kTogether;
    if (part > 0) end = part;
  }
  const auto to_next = [&] { return end < images_per_round ? int64_t{end} : stride - begin; };
  fetch(first, 0);
  for (int i = static_cast<int>(threadIdx.x) * 16; i < kFcBytes; i += kWarps * 32 * 16) {
    copy_async_16(shared_address(shared + i), reinterpret_cast<const float*>(packed + i));
  }
  commit_copies();
  typename Convolutions::Parameters parameters;
  parameters.load(packed, lane);
  wait_for_copies<1>();  // the image; the weights arrive while it is convolved

  bool weights_are_there = false;
  const auto await_weights = [&] {
    if (weights_are_there) return;
    wait_for_copies<0>();
    __syncthreads();
    weights_are_there = true;
  };
  int buffer = 0;
  // Warps without images also run the first round, because all warps wait in it for the weights that they copied.
  while (!weights_are_there || first < count) {
    const int in_round = static_cast<int>(max(int64_t{0}, min(int64_t{end - begin}, count - first)));
    for (int i = 0; i < in_round; i += kTogether) {
      __syncwarp();
      const int64_t next = i + kTogether < in_round ? first + i + kTogether : first + to_next();
      if (Shared::kBuffers == 2) fetch(next, buffer ^ 1);
      mma_conv1<Shared>(reinterpret_cast<const Pixel*>(own + buffer * Shared::kImageBytes), parameters, h1,
                        lane);
      __syncwarp();
      if (Shared::kBuffers == 1) fetch(next, 0);
      uint4 results[kTogether];
      mma_conv2<Shared>(h1, parameters, results, lane);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        *reinterpret_cast<uint4*>(h2 + (i + k) * Shared::kH2Pitch + lane * 16) = results[k];
      }
      wait_for_copies<0>();
      if (Shared::kBuffers == 2) buffer ^= 1;
      if (kTogether > 1) await_weights();  // before the warps diverge
    }
    await_weights();
    if (in_round == 0) break;
    __syncwarp();
    float logits[kEights][4];
    mma_fully_connected(shared, h2, Shared::kH2Pitch, logits, lane);
    __syncwarp();  // h2 has been read
    mma_write_logits(logits, reinterpret_cast<float*>(h2), in_round, output, probabilities, first, lane);
    first += to_next();
    begin = end < images_per_round ? end : 0, end = images_per_round;
  }
}

}  // namespace lenslet::fused_lenet5
