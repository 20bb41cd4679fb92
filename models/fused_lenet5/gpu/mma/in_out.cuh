// Internal: reading of images and writing of results in the tensor-core kernels.
#pragma once

#include "framework/instructions/async_copy.cuh"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/mma/kernels.h"

namespace lenslet::fused_lenet5 {

/// The results of image `first` and the ones after it.
__device__ __forceinline__ void mma_write(const float* scratch, int images, float* output,
                                          float* /*probabilities*/, int64_t first, int lane) {
  for (int i = lane; i < images * kClasses; i += 32) output[first * kClasses + i] = scratch[i];
}
__device__ __forceinline__ void mma_write(const float* scratch, int images, Prediction* output,
                                          float* probabilities, int64_t first, int lane) {
  if (lane >= images) return;
  float logits[kClasses];
#pragma unroll
  for (int k = 0; k < kClasses; ++k) logits[k] = scratch[lane * kClasses + k];
  write_prediction(output, probabilities, first + lane, predict(logits));
}

/// Writes the results D of products [16 classes, 8 images] for the first `images` images; called by all lanes of a
/// warp. scratch [8 kEights, 10] is shared memory of this warp alone.
template <int kEights, typename Output>
__device__ __forceinline__ void mma_write_logits(const float (&logits)[kEights][4], float* scratch,
                                                 int images, Output* output, float* probabilities,
                                                 int64_t first, int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int eight = 0; eight < kEights; ++eight) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int label = g + e / 2 * 8;
      if (label < kClasses) scratch[(eight * 8 + 2 * t + e % 2) * kClasses + label] = logits[eight][e];
    }
  }
  __syncwarp();
  mma_write(scratch, images, output, probabilities, first, lane);
}

/// Starts copying one image to shared memory; all lanes of a warp.
template <typename Pixel>
__device__ __forceinline__ void mma_fetch(const Pixel* image, uint32_t target, int lane) {
  constexpr int kPieces = kPixels * static_cast<int>(sizeof(Pixel)) / 16;
  const auto* source = reinterpret_cast<const float*>(image);
#pragma unroll
  for (int i = 0; i < kPieces; i += 32) {
    if (i + lane < kPieces) copy_async_16(target + (i + lane) * 16, source + (i + lane) * 4);
  }
}

}  // namespace lenslet::fused_lenet5
