// LeNet-5 of an image by a cluster of blocks, stage by stage, as `small` and the resident kernel run it. Internal:
// includes CUDA.
//
// Each stage is bound first by its longest dependency chain, and then by shared memory, which gives a warp 128 bytes
// per cycle even if lanes read the same word. So filters stay in registers, a thread computes as many sums as possible
// from the values it reads, and sums over lanes are exchanged by halves.
#pragma once

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/cluster/stores.cuh"
#include "models/fused_lenet5/gpu/cluster/thread.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"

namespace lenslet::cluster_lenet5 {

/// A kernel for clusters of n blocks; the attribute does not exist for architectures below 9.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define LENSLET_CLUSTER(n)
#else
#define LENSLET_CLUSTER(n) __cluster_dims__(n, 1, 1)
#endif

template <class T>
struct BlockMemory {
  float image[T::kImageRows * T::kImagePitch];
  alignas(16) float h1[kMaps1 * T::kPlane1];
  alignas(16) float h2[T::kPositions * kMaps2];
  // The leader, block 0, uses:
  float partial[T::kBlocks * kF1];  // partial sums of fc1 from each block
  alignas(16) float f1[128];        // the last eight zero
  alignas(16) float f2[kF2];
  uint64_t parts_arrived;
  // Every block uses:
  uint64_t image_arrived;
};

/// sums[4 k + 2 y + x] += filter k at (y, x) of the 6 x 6 values from `corner`: a 2 x 2 window of each of kMaps
/// convolutions.
template <int kMaps, int kPitch>
__device__ __forceinline__ void correlate(const float* corner, const Filter* filters,
                                          float (&sums)[kMaps * 4]) {
  float v[6][6];
  const auto read_row = [&](int row) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const float2 pair = *reinterpret_cast<const float2*>(corner + row * kPitch + 2 * i);
      v[row][2 * i] = pair.x, v[row][2 * i + 1] = pair.y;
    }
  };
  read_row(0);
  read_row(1);
#pragma unroll
  for (int r = 0; r < 5; ++r) {
    if (r < 4) read_row(r + 2);
#pragma unroll
    for (int s = 0; s < 5; ++s) {
#pragma unroll
      for (int position = 0; position < 4; ++position) {
#pragma unroll
        for (int k = 0; k < kMaps; ++k) {
          float& sum = sums[4 * k + position];
          sum = fmaf(filters[k].tap(5 * r + s), v[r + position / 2][s + position % 2], sum);
        }
      }
    }
  }
}

/// image -> h1: conv1, ReLU, pooling.
template <class T>
__device__ __forceinline__ void conv1_stage(BlockMemory<T>& block, const Places<T>& places,
                                            const Weights<T>& weights) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= T::kMapThreads * (kMaps1 / T::kConv1Maps)) return;
  int at = thread % T::kMapThreads, corner = places.corner1, out = places.out1;
#pragma unroll 1
  for (;;) {
    float sums[T::kConv1Maps * 4];
#pragma unroll
    for (int i = 0; i < T::kConv1Maps * 4; ++i) sums[i] = weights.bias1[i / 4];
    correlate<T::kConv1Maps, T::kImagePitch>(block.image + corner, weights.conv1, sums);
#pragma unroll
    for (int k = 0; k < T::kConv1Maps; ++k) {
      const float* const window = sums + 4 * k;
      block.h1[out + k * T::kPlane1] =
          fused_lenet5::relu_pool_bits(window[0], window[1], window[2], window[3]);
    }
    at += T::kMapThreads;
    if (T::kArea1 <= T::kMapThreads || at >= T::kArea1) break;
    corner = Places<T>::image_corner(at);
    out += T::kMapThreads;
  }
}

/// h1 -> h2: conv2, ReLU, pooling.
template <class T>
__device__ __forceinline__ void conv2_stage(BlockMemory<T>& block, const Places<T>& places,
                                            const Weights<T>& weights) {
  const int lane = lane_of();
  if (warp_of() < T::kConv2FirstWarp) return;
#pragma unroll 1
  for (int round = 0; round < T::kConv2Rounds; ++round) {
    // Each round has the four positions to the right of those before.
    float sums[T::kConv2Maps * 4] = {};
    correlate<T::kConv2Maps, T::kColumns1>(block.h1 + places.corner2 + 4 * round, weights.conv2, sums);
#pragma unroll
    for (float& sum : sums) sum = (lane & 7) < kMaps1 ? sum : 0.0f;  // idle lanes: not even 0 x NaN
    sum_over_lanes<4, T::kConv2Maps * 4>(sums);
    // Two maps: lane 4 k + 2 y + x has position (y, x) of map k. One: lanes 4 y + 2 x and the next have it.
    constexpr int kFarBit = T::kConv2Maps == 2 ? 2 : 4;
    int max_bits = __float_as_int(sums[0] + weights.bias2);
    // As integers: non-negative floats keep their order, NaN is the largest, and negative values become zero anyway.
    max_bits = max(max_bits, __shfl_xor_sync(kAllLanes, max_bits, kFarBit));
    max_bits = max(max_bits, __shfl_xor_sync(kAllLanes, max_bits, kFarBit / 2));
    if ((lane & (T::kConv2Maps == 2 ? 3 : 7)) == 0) {
      block.h2[places.out2 + 4 * kMaps2 * round] = __int_as_float(max(max_bits, 0));
    }
  }
}

__device__ __forceinline__ float dot(float4 a, float4 b) {
  return fmaf(a.x, b.x, a.y * b.y) + fmaf(a.z, b.z, a.w * b.w);
}

/// h2 -> this block's part of fc1's sums, sent to the leader.
template <class T>
__device__ __forceinline__ void fc1_stage(BlockMemory<T>& block, const Places<T>& places,
                                          const Weights<T>& weights) {
  const float4 x = reinterpret_cast<const float4*>(block.h2)[places.input1];
  float sums[T::kFc1Outputs];
#pragma unroll
  for (int i = 0; i < T::kFc1Outputs; ++i) sums[i] = dot(weights.fc1[i], x);
  sum_over_lanes<T::kFc1Groups / 2, T::kFc1Outputs>(sums);
  constexpr int kLeader = 0;
  store_async(places.part >= 0, in_block(shared_address(block.partial), kLeader) + 4 * places.part, sums[0],
              in_block(shared_address(&block.parts_arrived), kLeader));
}

/// In the leader, when every part has arrived: computes the rest. Returns the logits in lanes 0..9 of warp 0.
template <class T>
__device__ __forceinline__ float tail_stage(BlockMemory<T>& block, const Places<T>& places,
                                            const TailWeights<T>& weights) {
  const int lane = lane_of(), warp = warp_of();
  if (threadIdx.x < kF1) {
    float sums[T::kBlocks];
#pragma unroll
    for (int r = 0; r < T::kBlocks; ++r) sums[r] = block.partial[r * kF1 + static_cast<int>(threadIdx.x)];
#pragma unroll
    for (int step = 1; step < T::kBlocks; step *= 2) {
#pragma unroll
      for (int r = 0; r < T::kBlocks; r += 2 * step) sums[r] += sums[r + step];
    }
    block.f1[threadIdx.x] = fused_lenet5::relu_bits(sums[0] + weights.bias_f1);
  }
  __syncthreads();
  if (warp < T::kFc2Warps) {
    const auto* const f1 = reinterpret_cast<const float4*>(block.f1);
    const float4 x[2] = {f1[places.input2], f1[places.input2 + 16]};
    float sums[T::kFc2Outputs];
#pragma unroll
    for (int i = 0; i < T::kFc2Outputs; ++i)
      sums[i] = dot(weights.fc2[i][0], x[0]) + dot(weights.fc2[i][1], x[1]);
    sum_over_lanes<8, T::kFc2Outputs>(sums);
    if (places.out_f2 >= 0) block.f2[places.out_f2] = fused_lenet5::relu_bits(sums[0] + weights.bias_f2);
  }
  __syncthreads();
  if (warp != 0) return 0;
  const int part = min(lane / fused_lenet5::kClasses, 2);
  float4 sum{};
#pragma unroll
  for (int i = 0; i < 7; ++i) {
    const float4 f2 = reinterpret_cast<const float4*>(block.f2)[part + 3 * i], w = weights.fc3[i];
    sum = {fmaf(w.x, f2.x, sum.x), fmaf(w.y, f2.y, sum.y), fmaf(w.z, f2.z, sum.z), fmaf(w.w, f2.w, sum.w)};
  }
  const float all = (sum.x + sum.y) + (sum.z + sum.w);
  return weights.bias_f3 +
         (all + __shfl_down_sync(kAllLanes, all, 10) + __shfl_down_sync(kAllLanes, all, 20));
}

}  // namespace lenslet::cluster_lenet5
