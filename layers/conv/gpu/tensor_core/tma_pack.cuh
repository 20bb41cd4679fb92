// Packs inputs for the convolution that TMA feeds: NHWC, elements of the math mode, rows of whole 16 bytes.
#pragma once

#include <cstdint>

#include "framework/instructions/early_launch.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/tensor/math_mode.h"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

struct TmaPackShape {
  int c, plane;  // C, H*W
  int pieces;    // of 16 bytes, of a pixel
  int pixels;    // N*H*W
  FastDivide by_plane;
};

constexpr int kTmaPackPixels = 64, kTmaPackPieces = 8, kTmaPackThreads = 256;

/// Up to sixteen bytes of channels as one piece; tf32 stays fp32: the copies round it.
template <MathMode kMath>
__device__ __forceinline__ uint4 tma_piece(const float* values) {
  if constexpr (kMath == MathMode::kTf32) {
    return make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                      __float_as_uint(values[3]));
  } else {
    return make_uint4(pack_halves(values[0], values[1]), pack_halves(values[2], values[3]),
                      pack_halves(values[4], values[5]), pack_halves(values[6], values[7]));
  }
}

// computes    packed [N*H*W, pieces] x 16 bytes from x [N, C, H, W] or [N, H, W, C], zeros after C
// work split  a block = 64 pixels x 8 pieces; NCHW: a warp reads a channel of 32 neighbouring pixels at a time, a
//             thread writes a piece, and shared memory transposes between
// memory      NCHW: shared, 64 pixels of 8 pieces of channels, with a pitch that avoids bank conflicts
// requires    sm_90a, as the kernel that reads `packed`; blockIdx.y within the grid (pack_fits_grid() of
//             hopper_tma.cu)
// measured    not measured: no result file has its stage; lenslet profile times it as "pack"
template <MathMode kMath, bool kNhwc>
__global__ void __launch_bounds__(kTmaPackThreads)
    conv_tensor_core_pack_kernel(const TmaPackShape shape,
                                 const float* x,  // no __restrict__: the launch before may still write it
                                 uint4* __restrict__ packed) {
  constexpr int kLanes = kMath == MathMode::kTf32 ? 4 : 8, kChannels = kTmaPackPieces * kLanes;
  constexpr int kPitch = kChannels + 1;
  overlap_launches();
  const int first_channel = static_cast<int>(blockIdx.y) * kChannels;
  const int first_pixel = static_cast<int>(blockIdx.x) * kTmaPackPixels;
  const int left = shape.c - first_channel, thread = static_cast<int>(threadIdx.x);
  __shared__ float values[kNhwc ? 1 : kTmaPackPixels * kPitch];
  if constexpr (!kNhwc) {
    const int pixel = first_pixel + thread % kTmaPackPixels;
    if (pixel < shape.pixels) {
      int at;
      const int64_t image = shape.by_plane.divide(pixel, at);
      const float* from = x + (image * shape.c + first_channel) * shape.plane + at;
#pragma unroll
      for (int c = thread / kTmaPackPixels; c < kChannels; c += kTmaPackThreads / kTmaPackPixels) {
        values[thread % kTmaPackPixels * kPitch + c] = c < left ? from[int64_t{c} * shape.plane] : 0.0f;
      }
    }
    __syncthreads();
  }
  const int piece = thread % kTmaPackPieces, first_piece = static_cast<int>(blockIdx.y) * kTmaPackPieces;
#pragma unroll
  for (int p = thread / kTmaPackPieces; p < kTmaPackPixels; p += kTmaPackThreads / kTmaPackPieces) {
    const int pixel = first_pixel + p;
    if (pixel >= shape.pixels || first_piece + piece >= shape.pieces) break;
    float own[kLanes];
    const float* from = x + int64_t{pixel} * shape.c + first_channel + piece * kLanes;  // NHWC
    if (kNhwc && shape.c % kLanes == 0) {
#pragma unroll
      for (int i = 0; i < kLanes; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + i);
        own[i] = four.x;
        own[i + 1] = four.y;
        own[i + 2] = four.z;
        own[i + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const int c = piece * kLanes + i;
        own[i] = !kNhwc ? values[p * kPitch + c] : c < left ? from[i] : 0.0f;
      }
    }
    packed[int64_t{pixel} * shape.pieces + first_piece + piece] = tma_piece<kMath>(own);
  }
}

}  // namespace lenslet
