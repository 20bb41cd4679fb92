// Internal: the second kernel of the backend `fp32`, the three fully connected layers as matrix products in registers:
//   out [N, 10] = fc3(relu(fc2(relu(fc1 h2)))), inputs outermost everywhere, so that a load reads neighbouring images
// Register tiling after V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear algebra", SC 2008. Weights of
// all layers pass through one ring of two stages: the next stage is copied while one is multiplied.
#pragma once

#include <type_traits>

#include "framework/instructions/async_copy.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/fp32/parameters.h"

namespace lenslet::fused_lenet5 {

/// kEach images per thread: 8, 4, 2 or 1.
template <int kEach>
struct Fp32LinearTile {
  static constexpr int kAcross = 16;  // neighbouring threads, each with other images
  static constexpr int kImages = kAcross * kEach, kThreads = kAcross * 12;
  static constexpr int kSteps1 = 32, kSteps2 = 40;    // inputs of a stage
  static constexpr int kStage = kSteps1 * 120;        // floats, and as many as kSteps2 * Fp32Linear::kFc2Row
  static constexpr int kActivations = 120 * kImages;  // h2 in two stages, then fc1's output, then fc2's
  static constexpr int kSharedBytes = (kActivations + 2 * kStage) * 4;
  static_assert(kStage == kSteps2 * Fp32Linear::kFc2Row, "one ring serves both layers");
  static_assert(2 * kSteps1 <= 120, "two stages of h2 fit where the activations go");
};

/// Loads a thread's images of one row of activations: groups of four, 64 apart if it has eight.
template <int kEach>
struct Fp32Images {
  float value[kEach];
  __device__ __forceinline__ void load(const float* row, int across) {
    if constexpr (kEach >= 4) {
#pragma unroll
      for (int i = 0; i < kEach; i += 4)
        *reinterpret_cast<float4*>(value + i) = *reinterpret_cast<const float4*>(row + i * 16 + across * 4);
    } else if constexpr (kEach == 2) {
      *reinterpret_cast<float2*>(value) = *reinterpret_cast<const float2*>(row + across * 2);
    } else {
      value[0] = row[across];
    }
  }
  __device__ __forceinline__ void store(float* row, int across) const {
    if constexpr (kEach >= 4) {
#pragma unroll
      for (int i = 0; i < kEach; i += 4)
        *reinterpret_cast<float4*>(row + i * 16 + across * 4) = *reinterpret_cast<const float4*>(value + i);
    } else if constexpr (kEach == 2) {
      *reinterpret_cast<float2*>(row + across * 2) = *reinterpret_cast<const float2*>(value);
    } else {
      row[across] = value[0];
    }
  }
};

/// sums[image][o] += sum over `steps` inputs of activation times weight. kLoad: kOut rounded up to whole loads.
template <int kEach, int kOut, int kLoad, int kRow>
__device__ __forceinline__ void fp32_multiply(float (&sums)[kEach][kOut], const float* activations,
                                              const float* weights, int across, int steps) {
#pragma unroll 2
  for (int k = 0; k < steps; ++k) {
    Fp32Images<kEach> x;
    x.load(activations + k * Fp32LinearTile<kEach>::kImages, across);
    float w[kLoad];
    using Vector = std::conditional_t<kLoad % 4 == 0, float4, float2>;
    constexpr int kVector = sizeof(Vector) / sizeof(float);
#pragma unroll
    for (int i = 0; i < kLoad; i += kVector)
      *reinterpret_cast<Vector*>(w + i) = *reinterpret_cast<const Vector*>(weights + k * kRow + i);
#pragma unroll
    for (int image = 0; image < kEach; ++image) {
#pragma unroll
      for (int o = 0; o < kOut; ++o) sums[image][o] = fmaf(x.value[image], w[o], sums[image][o]);
    }
  }
}

template <int kEach, int kOut>
__device__ __forceinline__ void fp32_begin(float (&sums)[kEach][kOut], const float* bias) {
#pragma unroll
  for (int i = 0; i < kEach * kOut; ++i) sums[i / kOut][i % kOut] = __ldg(bias + i % kOut);
}
/// relu(sums) as rows of activations.
template <int kEach, int kOut>
__device__ __forceinline__ void fp32_store(const float (&sums)[kEach][kOut], float* rows, int across) {
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    Fp32Images<kEach> y;
#pragma unroll
    for (int image = 0; image < kEach; ++image) y.value[image] = relu_bits(sums[image][o]);
    y.store(rows + o * Fp32LinearTile<kEach>::kImages, across);
  }
}

__device__ __forceinline__ void fp32_write(float* output, float* /*probabilities*/, int64_t image,
                                           const float (&logits)[kClasses]) {
#pragma unroll
  for (int k = 0; k < kClasses; k += 2)
    *reinterpret_cast<float2*>(output + image * kClasses + k) = make_float2(logits[k], logits[k + 1]);
}
__device__ __forceinline__ void fp32_write(Prediction* output, float* probabilities, int64_t image,
                                           const float (&logits)[kClasses]) {
  write_prediction(output, probabilities, image, predict(logits));
}

// computes    logits or predictions of h2 [N / 128][256][128 images]
// work split  block = 16 * kEach images; thread = kEach images x 10 outputs of fc1, then 7 of fc2; in fc3 one thread
//             per image
// memory      92 KB with kEach = 8: activations, overwritten from layer to layer, and two stages of weights; 80 sums
// requires    compute capability 8.0, blocks of kThreads, kSharedBytes; h2 padded to whole 128 images (fp32.cu
//             ensures all)
// measured    H200, both kernels together, 10,000 images of bytes, predictions: 111.1 us
//             (docs/results/2026-11-28-h200/bench-batches.json)
template <int kEach, typename Output>
__global__ void __launch_bounds__(Fp32LinearTile<kEach>::kThreads, 2)
    fused_lenet5_fp32_linear_kernel(const float* __restrict__ h2,  // [count / 128, 256, 128], rounded up
                                    int count,
                                    const float* __restrict__ parameters,  // [Fp32Linear::kFloats]
                                    Output* __restrict__ output,           // [count, 10] or [count]
                                    float* __restrict__ probabilities) {   // [count], or null: in the output
  using Tile = Fp32LinearTile<kEach>;
  constexpr int kLast1 = 256 / Tile::kSteps1, kLast2 = kLast1 + 120 / Tile::kSteps2;  // stages before
  extern __shared__ __align__(16) float shared[];
  float* const ring = shared + Tile::kActivations;
  const int first = blockIdx.x * Tile::kImages;
  const float* const source = h2 + int64_t{first / 128} * (256 * 128) + first % 128;
  // h2 is defined up to a multiple of eight images. Beyond that, four existing images are read again and their results
  // dropped.
  const int last_four = (count - 1 - first) / 4 * 4;
  const int across = threadIdx.x % Tile::kAcross, along = threadIdx.x / Tile::kAcross;

  const auto copy_weights = [&](int stage, const float* from, int floats) {
    float* const target = ring + stage % 2 * Tile::kStage;
#pragma unroll 1
    for (int i = threadIdx.x * 4; i < floats; i += Tile::kThreads * 4)
      copy_async_16(shared_address(target + i), from + i);
  };
  const auto fetch = [&](int stage) {
    if (stage < kLast1) {
      copy_weights(stage, parameters + Fp32Linear::kFc1 + stage * Tile::kStage, Tile::kStage);
      float* const target = shared + stage % 2 * (Tile::kSteps1 * Tile::kImages);
      constexpr int kRow = Tile::kImages / 4;
#pragma unroll 1
      for (int i = threadIdx.x; i < Tile::kSteps1 * kRow; i += Tile::kThreads)
        copy_async_16(shared_address(target + i * 4),
                      source + (stage * Tile::kSteps1 + i / kRow) * 128 + min(i % kRow * 4, last_four));
    } else if (stage < kLast2) {
      copy_weights(stage, parameters + Fp32Linear::kFc2 + (stage - kLast1) * Tile::kStage, Tile::kStage);
    } else {
      copy_weights(stage, parameters + Fp32Linear::kFc3, 84 * Fp32Linear::kFc3Row);
    }
    commit_copies();
  };
  // Stage by stage: when a stage has arrived and no thread reads the other one, the other one is filled again.
  const auto next = [&](int stage) {
    wait_for_copies<0>();
    __syncthreads();
    fetch(stage + 1);
    return ring + stage % 2 * Tile::kStage;
  };

  fetch(0);
  {
    float sums[kEach][10];
    fp32_begin(sums, parameters + Fp32Linear::kBias1 + along * 10);
#pragma unroll 1
    for (int stage = 0; stage < kLast1; ++stage) {
      const float* const weights = next(stage);
      fp32_multiply<kEach, 10, 10, 120>(sums, shared + stage % 2 * (Tile::kSteps1 * Tile::kImages),
                                        weights + along * 10, across, Tile::kSteps1);
    }
    __syncthreads();
    fp32_store(sums, shared + along * 10 * Tile::kImages, across);
  }
  {
    float sums[kEach][7];
    fp32_begin(sums, parameters + Fp32Linear::kBias2 + along * 7);
#pragma unroll 1
    for (int stage = kLast1; stage < kLast2; ++stage) {
      const float* const weights = next(stage);
      fp32_multiply<kEach, 7, 8, Fp32Linear::kFc2Row>(
          sums, shared + (stage - kLast1) * (Tile::kSteps2 * Tile::kImages), weights + along * 8, across,
          Tile::kSteps2);
    }
    wait_for_copies<0>();
    __syncthreads();
    fp32_store(sums, shared + along * 7 * Tile::kImages, across);
  }
  __syncthreads();
  const int image = first + threadIdx.x;
  if (threadIdx.x >= Tile::kImages || image >= count) return;
  const float* const weights = ring + kLast2 % 2 * Tile::kStage;
  float logits[kClasses];
#pragma unroll
  for (int k = 0; k < kClasses; ++k) logits[k] = __ldg(parameters + Fp32Linear::kBias3 + k);
#pragma unroll 4
  for (int i = 0; i < 84; ++i) {
    const float x = shared[i * Tile::kImages + threadIdx.x];
    float w[Fp32Linear::kFc3Row];
#pragma unroll
    for (int k = 0; k < Fp32Linear::kFc3Row; k += 4)
      *reinterpret_cast<float4*>(w + k) =
          *reinterpret_cast<const float4*>(weights + i * Fp32Linear::kFc3Row + k);
#pragma unroll
    for (int k = 0; k < kClasses; ++k) logits[k] = fmaf(x, w[k], logits[k]);
  }
  fp32_write(output, probabilities, image, logits);
}

}  // namespace lenslet::fused_lenet5
