// LeNet-5 for a few images, one cluster of blocks per image. Internal: includes CUDA. Formula and sources: ../small.cu.
#pragma once

#include "models/fused_lenet5/gpu/cluster/stages.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"

namespace lenslet::cluster_lenet5 {

struct SmallArguments {
  const void* input;     // [count, 28, 28] pixels
  void* output;          // [count, 10] logits, [count] predictions, or [count] labels with `probabilities`
  float* probabilities;  // [count]; null: in the predictions
  int64_t count;
  const float* packed;  // in the order of Tile
  bool input_on_host;   // page-locked memory: one block of a cluster reads it and sends it to the others
  bool logits;
  Conv1Parameters conv1;
};

/// Four pixels as floats.
__device__ __forceinline__ float4 four_pixels(const uint8_t* at) {
  const auto four = *reinterpret_cast<const uint32_t*>(at);
  return {static_cast<float>(four & 255), static_cast<float>(four >> 8 & 255),
          static_cast<float>(four >> 16 & 255), static_cast<float>(four >> 24)};
}
__device__ __forceinline__ float4 four_pixels(const float* at) {
  return *reinterpret_cast<const float4*>(at);
}

/// Sends the pixels at `image`, 16 bytes per thread, to every block that needs rows of them. A read of host memory
/// takes a microsecond, and reads of the same bytes by several blocks are serialised.
template <class T, typename Pixel>
__device__ __forceinline__ void relay_image(const Pixel* image, unsigned char* raw, uint64_t* arrived) {
  constexpr int kImageBytes = kSide * kSide * static_cast<int>(sizeof(Pixel));
  constexpr int kFourRows = 4 * kSide * static_cast<int>(sizeof(Pixel));  // whole 16 bytes
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= kImageBytes / 16) return;
  const uint4 bytes = reinterpret_cast<const uint4*>(image)[thread];
  const int four = thread * 16 / kFourRows;
#pragma unroll
  for (int r = 0; r < T::kBlocks; ++r) {
    const int first = position_row(r * T::kPositions);
    const bool wanted = four >= first && four < first + T::kImageRows / 4;
    store_async(wanted, in_block(shared_address(raw) + 16 * thread, r), bytes,
                in_block(shared_address(arrived), r));
  }
}

// computes    logits or predictions of `count` images
// work split  a cluster of 2 to 16 blocks per image, 256 threads each: conv1 and conv2 by position, fc1 by input, the
//             rest in block 0
// memory      5 to 14 KiB per block for its part, 45 KiB in block 0 for the weights of fc2 and fc3; filters in
//             registers
// requires    compute capability 9.0, a grid of whole clusters, packed parameters of the same Tile (SmallOperator
//             ensures it)
// measured    H100, an image of bytes in device memory, fp32, prediction: 2.16 us
//             (docs/results/2026-11-27-h100/bench.json)
template <class T, typename Pixel>
__global__ void __launch_bounds__(kThreads, 1) LENSLET_CLUSTER(T::kBlocks)
    fused_lenet5_small_kernel(const __grid_constant__ SmallArguments args) {
  // Readers: five warps, because the largest tile, of 2 blocks, has 20 rows of 7 fours.
  constexpr int kImagePixels = kSide * kSide, kFours = T::kImageColumns / 4, kReaders = 160;
  // Whole rows, as relayed.
  constexpr int kShareBytes = T::kImageRows * kSide * static_cast<int>(sizeof(Pixel));
  constexpr int kPartBytes = T::kBlocks * kF1 * 4, kTailBytes = T::kTailFloats * 4;
  constexpr bool kFc1Late = T::kBlocks == 2;  // conv1 needs the registers
  __shared__ BlockMemory<T> block;
  __shared__ uint64_t tail_arrived;
  __shared__ alignas(16) unsigned char raw[kImagePixels * sizeof(Pixel)];
  extern __shared__ __align__(128) float tail[];

  let_next_launch_begin();
  const int rank = cluster_rank(), thread = static_cast<int>(threadIdx.x);
  const int64_t clusters = gridDim.x / T::kBlocks;
  const auto* const input = static_cast<const Pixel*>(args.input);
  if (thread == 0) {
    barrier_init(&block.parts_arrived);
    barrier_init(&block.image_arrived);
    barrier_init(&tail_arrived);
    fence_barrier_init();
    barrier_arrive_expect(&block.image_arrived, kShareBytes);
    if (rank == 0) {
      barrier_arrive_expect(&block.parts_arrived, kPartBytes);
      barrier_arrive_expect(&tail_arrived, kTailBytes);
      bulk_copy(tail, args.packed + T::kTailAt, kTailBytes, &tail_arrived);
    }
  }
  if (thread >= kF1 && thread < 128) block.f1[thread] = 0;
  cluster_arrive_relaxed();
  // The last threads read the block's part of an image, four pixels each.
  const int reader = thread - (kThreads - kReaders), row = reader / kFours, four = reader % kFours;
  const bool reads = reader >= 0 && row < T::kImageRows;
  const int corner =
      4 * position_row(rank * T::kPositions) * kSide + 4 * position_column(rank * T::kPositions);
  const int offset = corner + row * kSide + 4 * four;

  uint32_t parity = 0;
  for (int64_t n = blockIdx.x / T::kBlocks;; n += clusters, parity ^= 1) {
    Weights<T> weights{};  // initialised, so that values of the previous image need no registers
    weights.load_conv(args.packed, args.conv1);
    if (!kFc1Late) weights.load_fc1(args.packed, rank);
    wait_for_launch_before();
    const Pixel* const image = input + n * kImagePixels;
    float4 pixels{};
    if (reads && !args.input_on_host) pixels = four_pixels(image + offset);
    const Places<T> places(rank);
    cluster_wait();  // until every block has begun, or has finished the previous image
    if (args.input_on_host) {
      if (rank == 0) relay_image<T>(image, raw, &block.image_arrived);
      if (reads) {
        barrier_wait(&block.image_arrived, parity);
        pixels = four_pixels(reinterpret_cast<const Pixel*>(raw) + offset);
      }
    }
    if (reads) {
      auto* const at = reinterpret_cast<float2*>(block.image + row * T::kImagePitch + 4 * four);
      at[0] = {pixels.x, pixels.y};
      at[1] = {pixels.z, pixels.w};
    }
    __syncthreads();
    conv1_stage(block, places, weights);
    if (kFc1Late) weights.load_fc1(args.packed, rank);
    __syncthreads();
    conv2_stage(block, places, weights);
    __syncthreads();
    fc1_stage(block, places, weights);
    const bool more = n + clusters < args.count;
    if (thread == 0 && more && args.input_on_host) barrier_arrive_expect(&block.image_arrived, kShareBytes);
    if (rank == 0) {
      TailWeights<T> tail_weights{};
      barrier_wait(&tail_arrived, 0);
      tail_weights.load(tail);
      barrier_wait(&block.parts_arrived, parity);
      if (thread == 0 && more) barrier_arrive_expect(&block.parts_arrived, kPartBytes);
      const float logit = tail_stage(block, places, tail_weights);
      if (thread < 32) {
        if (args.logits) {
          if (thread < fused_lenet5::kClasses)
            static_cast<float*>(args.output)[n * fused_lenet5::kClasses + thread] = logit;
        } else {
          const Prediction prediction = fused_lenet5::predict_from_lanes(logit);
          if (thread == 0) fused_lenet5::store_prediction(args.output, args.probabilities, n, prediction);
        }
      }
    }
    if (!more) break;
    cluster_arrive();
  }
}

}  // namespace lenslet::cluster_lenet5
