// The fully connected layers of the backend `medium`. Internal: includes CUDA.
//
// A warp computes eight outputs of all images, so that a weight is read from shared memory once for all of them. Its
// lanes split the inputs, and sums over lanes are exchanged by halves.
#pragma once

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"
#include "models/fused_lenet5/gpu/medium/layout.h"

namespace lenslet::medium_lenet5 {

/// The images that a warp computes together: a power of two, and one or two more or none.
template <int kGroup>
struct Group {
  static constexpr int kFirst = kGroup == 3    ? 2
                                : kGroup == 6  ? 4
                                : kGroup == 10 ? 8
                                               : kGroup,
                       kRest = kGroup - kFirst;
};

/// The number of first steps of sum_over_lanes() in which nothing is selected, because a lane orders its images so that
/// it sends the second half. kImages: a power of two, or 0. More than two steps would take more registers.
template <int kImages>
constexpr int kExchangedSteps = kImages >= 4 ? 2 : kImages / 2;

/// Which image a lane has at `place`.
template <int kImages>
__device__ __forceinline__ int exchanged_image(int place, int lane) {
  constexpr int kSteps = kExchangedSteps<kImages>, kPart = kImages >> kSteps;  // parts keep their order
  return ((place / kPart) ^ (lane >> (5 - kSteps))) * kPart + place % kPart;
}

/// sum_over_lanes() whose first kSteps steps find the halves exchanged.
template <int kBit, int kCount, int kSteps>
__device__ __forceinline__ void sum_exchanged(float* values) {
  if constexpr (kSteps == 0) {
    fused_lenet5::sum_over_lanes<kBit, kCount>(values);
  } else {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i)
      values[i] += __shfl_xor_sync(kAllLanes, values[i + kCount / 2], kBit);
    sum_exchanged<kBit / 2, kCount / 2, kSteps - 1>(values);
  }
}

/// relu(sum over lanes + bias) of the warp's eight outputs for kGroup images, a power of two, of which `images` are
/// stored. activations: where the outputs of the first image go.
template <int kGroup>
__device__ __forceinline__ void store_outputs(float* sums, float* activations, const float* bias, int images,
                                              int outputs, int warp, int lane) {
  constexpr int kSums = kGroup * Layout::kOutputs;
  sum_exchanged<16, kSums, kExchangedSteps<kGroup>>(sums);
  // The lane then has kSums / 32 values, or shares one with its neighbours.
  constexpr int kKept = kSums < 32 ? 1 : kSums / 32, kSharers = kSums < 32 ? 32 / kSums : 1;
  if (lane % kSharers != 0) return;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const int index = lane / kSharers * kKept + i;
    const int image = index / Layout::kOutputs, output = warp * Layout::kOutputs + index % Layout::kOutputs;
    if (image < images && output < outputs)
      activations[image * Layout::kImage + output] = fused_lenet5::relu_bits(sums[i] + bias[output]);
  }
}

/// relu(weights * x + bias) of the warp's eight outputs for kGroup images, of which `images` are stored. activations:
/// of the first image; x and y: where they are in it.
template <int kGroup, int kInputs>
__device__ __forceinline__ void linear_layer(float* activations, int x, int y, const float* weights,
                                             const float* bias, int images, int outputs, int warp, int lane) {
  using G = Group<kGroup>;
  constexpr int kAtOnce = kGroup > 8 ? 1 : kGroup;  // images whose inputs are in registers
  float sums[kGroup * Layout::kOutputs] = {};
  const float* const own = weights + warp * Layout::kOutputs * kInputs + 4 * lane;
  const float* const inputs = activations + x + 4 * lane;
#pragma unroll
  for (int step = 0; step < kInputs; step += Layout::kStep) {
#pragma unroll
    for (int at = 0; at < kGroup; at += kAtOnce) {
      // Otherwise the compiler reads the inputs of both steps at once, for which eight images leave no registers.
      if (kGroup == 8 && step > 0) __syncwarp();
      float4 v[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int place = at + i;
        int image = 0;
        if constexpr (G::kRest > 0) {
          image = place < G::kFirst ? exchanged_image<G::kFirst>(place, lane)
                                    : G::kFirst + exchanged_image<G::kRest>(place - G::kFirst, lane);
        } else {
          image = exchanged_image<G::kFirst>(place, lane);
        }
        v[i] = *reinterpret_cast<const float4*>(inputs + image * Layout::kImage + step);
      }
#pragma unroll
      for (int n = 0; n < Layout::kOutputs; ++n) {
        const float4 w = *reinterpret_cast<const float4*>(own + n * kInputs + step);
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          float& sum = sums[(at + i) * Layout::kOutputs + n];
          sum = fmaf(w.x, v[i].x, sum);
          sum = fmaf(w.y, v[i].y, sum);
          sum = fmaf(w.z, v[i].z, sum);
          sum = fmaf(w.w, v[i].w, sum);
        }
      }
    }
  }
  store_outputs<G::kFirst>(sums, activations + y, bias, images, outputs, warp, lane);
  if constexpr (G::kRest > 0) {
    store_outputs<G::kRest>(sums + G::kFirst * Layout::kOutputs, activations + G::kFirst * Layout::kImage + y,
                            bias, images - G::kFirst, outputs, warp, lane);
  }
}

/// h2 -> f1 -> f2 of kGroup images, of which the last ones may be absent.
template <int kGroup>
__device__ __forceinline__ void hidden_layers(float* activations, const float* parameters, int images,
                                              int warp, int lane) {
  if (warp < Layout::kFc1Warps) {
    linear_layer<kGroup, Layout::kFc1Inputs>(activations, Layout::kH2, Layout::kF1, parameters + Layout::kFc1,
                                             parameters + Layout::kBiasF1, images, Layout::kFc1Outputs, warp,
                                             lane);
  } else if (lane < Layout::kStep - Layout::kFc2Inputs) {
    // fc2 reads 128 inputs: these are multiplied by weights of the next output.
    float* const beyond = activations + Layout::kF1 + Layout::kFc2Inputs + lane;
#pragma unroll
    for (int image = 0; image < kGroup; ++image) beyond[image * Layout::kImage] = 0;
  }
  __syncthreads();
  if (warp < Layout::kFc2Warps) {
    linear_layer<kGroup, Layout::kFc2Inputs>(activations, Layout::kF1, Layout::kF2, parameters + Layout::kFc2,
                                             parameters + Layout::kBiasF2, images, Layout::kFc2Outputs, warp,
                                             lane);
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
    const float4 w =
        *reinterpret_cast<const float4*>(parameters + Layout::kFc3 + i * Layout::kStep + 4 * lane);
    sum = {fmaf(w.x, x.x, sum.x), fmaf(w.y, x.y, sum.y), fmaf(w.z, x.z, sum.z), fmaf(w.w, x.w, sum.w)};
  }
  const float all = (sum.x + sum.y) + (sum.z + sum.w);
  return parameters[Layout::kBiasF3 + lane % fused_lenet5::kClasses] +
         (all + __shfl_down_sync(kAllLanes, all, 10) + __shfl_down_sync(kAllLanes, all, 20));
}

}  // namespace lenslet::medium_lenet5
