// The fully connected layers of the backend `medium`. Internal: includes CUDA.
//
// A warp computes eight outputs of all images, so that a weight is read from shared memory once for all of them. Its
// lanes split the inputs, and sums over lanes are exchanged by halves.
#pragma once

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/medium/tile.h"
#include "models/fused_lenet5/gpu/small/thread.cuh"

namespace lenslet::medium_lenet5 {

/// relu(sum over lanes + bias) of the warp's eight outputs for kGroup images, a power of two, of which `images` are
/// stored. activations: where the outputs of the first image go.
template <int kGroup>
__device__ __forceinline__ void store_outputs(float* sums, float* activations, const float* bias, int images,
                                              int outputs, int warp, int lane) {
  constexpr int kSums = kGroup * Tile::kOutputs;
  small_lenet5::sum_over_lanes<16, kSums>(sums);
  // The lane then has kSums / 32 values, or shares one with its neighbours.
  constexpr int kKept = kSums < 32 ? 1 : kSums / 32, kSharers = kSums < 32 ? 32 / kSums : 1;
  if (lane % kSharers != 0) return;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int index = lane / kSharers * kKept + i;
    const int image = index / Tile::kOutputs, output = warp * Tile::kOutputs + index % Tile::kOutputs;
    if (image < images && output < outputs)
      activations[image * Tile::kImage + output] = fused_lenet5::relu_bits(sums[i] + bias[output]);
  }
}

/// relu(weights * x + bias) of the warp's eight outputs for kGroup images, of which `images` are stored. activations:
/// of the first image; x and y: where they are in it.
template <int kGroup, int kSteps>
__device__ __forceinline__ void linear_layer(float* activations, int x, int y, const float* weights,
                                             const float* bias, int images, int outputs, int warp, int lane) {
  float sums[kGroup * Tile::kOutputs] = {};
  const float* const own = weights + warp * Tile::kOutputs * kSteps * Tile::kStep + 4 * lane;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    float4 inputs[kGroup];
#pragma unroll
    for (int image = 0; image < kGroup; ++image) {
      inputs[image] = *reinterpret_cast<const float4*>(activations + image * Tile::kImage + x +
                                                       step * Tile::kStep + 4 * lane);
    }
#pragma unroll
    for (int n = 0; n < Tile::kOutputs; ++n) {
      const float4 w = *reinterpret_cast<const float4*>(own + (n * kSteps + step) * Tile::kStep);
#pragma unroll
      for (int image = 0; image < kGroup; ++image) {
        float& sum = sums[image * Tile::kOutputs + n];
        sum = fmaf(w.x, inputs[image].x, sum);
        sum = fmaf(w.y, inputs[image].y, sum);
        sum = fmaf(w.z, inputs[image].z, sum);
        sum = fmaf(w.w, inputs[image].w, sum);
      }
    }
  }
  // Three images are two and one, six are four and two.
  constexpr int kFirst = kGroup == 3 ? 2 : kGroup == 6 ? 4 : kGroup, kRest = kGroup - kFirst;
  store_outputs<kFirst>(sums, activations + y, bias, images, outputs, warp, lane);
  if constexpr (kRest > 0) {
    store_outputs<kRest>(sums + kFirst * Tile::kOutputs, activations + kFirst * Tile::kImage + y, bias,
                         images - kFirst, outputs, warp, lane);
  }
}

/// h2 -> f1 -> f2 of kGroup images, of which the last ones may be absent. fc2 reads 128 inputs: the weights of the last
/// eight are zero, and in their place is V of the same image.
template <int kGroup>
__device__ __forceinline__ void hidden_layers(float* activations, const float* parameters, int images,
                                              int warp, int lane) {
  if (warp < Tile::kFc1Warps) {
    linear_layer<kGroup, Tile::kFc1Steps>(activations, Tile::kH2, Tile::kF1, parameters + Tile::kFc1,
                                          parameters + Tile::kBiasF1, images, Tile::kFc1Outputs, warp, lane);
  }
  __syncthreads();
  if (warp < Tile::kFc2Warps) {
    linear_layer<kGroup, Tile::kFc2Steps>(activations, Tile::kF1, Tile::kF2, parameters + Tile::kFc2,
                                          parameters + Tile::kBiasF2, images, Tile::kFc2Outputs, warp, lane);
  }
  __syncthreads();
}

/// f2 of an image -> its logits in lanes 0..9: a class has three lanes.
__device__ __forceinline__ float last_layer(const float* f2, const float* parameters, int lane) {
  const int part = min(lane / fused_lenet5::kClasses, 2);
  float4 sum{};
#pragma unroll
  for (int i = 0; i < 7; ++i) {
    const float4 x = reinterpret_cast<const float4*>(f2)[part + 3 * i];
    const float4 w = *reinterpret_cast<const float4*>(parameters + Tile::kFc3 + i * Tile::kStep + 4 * lane);
    sum = {fmaf(w.x, x.x, sum.x), fmaf(w.y, x.y, sum.y), fmaf(w.z, x.z, sum.z), fmaf(w.w, x.w, sum.w)};
  }
  const float all = (sum.x + sum.y) + (sum.z + sum.w);
  return parameters[Tile::kBiasF3 + lane % fused_lenet5::kClasses] +
         (all + __shfl_down_sync(kAllLanes, all, 10) + __shfl_down_sync(kAllLanes, all, 20));
}

}  // namespace lenslet::medium_lenet5
