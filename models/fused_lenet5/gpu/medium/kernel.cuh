// LeNet-5 for some hundred images, one block per multiprocessor. Internal: includes CUDA. Formula and sources:
// ../medium.cu.
#pragma once

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/cluster/stores.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"
#include "models/fused_lenet5/gpu/medium/conv.cuh"
#include "models/fused_lenet5/gpu/medium/linear.cuh"

namespace lenslet::medium_lenet5 {

struct MediumArguments {
  const void* input;     // [count, 28, 28] pixels
  void* output;          // [count, 10] logits, [count] predictions, or [count] labels with `probabilities`
  float* probabilities;  // [count]; null: in the predictions
  int64_t count;
  const float* packed;  // in the order of Layout
  fused_lenet5::WinogradConstants constants;
};

__device__ __forceinline__ void store_answer(float* output, float* /*probabilities*/, int64_t image,
                                             float logit, int lane) {
  if (lane < fused_lenet5::kClasses) output[image * fused_lenet5::kClasses + lane] = logit;
}
__device__ __forceinline__ void store_answer(Prediction* output, float* probabilities, int64_t image,
                                             float logit, int lane) {
  const Prediction prediction = fused_lenet5::predict_from_lanes(logit);
  if (lane == 0) fused_lenet5::store_prediction(output, probabilities, image, prediction);
}

// computes    logits or predictions of `count` images
// work split  persistent blocks of 16 warps; a block takes neighbouring images, up to ten at once; conv1: thread = 6
//             x 4 outputs of 1 or 3 filters; conv2: one of 8 points of 8 x 4 outputs of 4 filters, or of 2 (of up to
//             three images, and of those beyond eight), then an eighth of the outputs; fc1, fc2: warp = 8 outputs of
//             all images at once; fc3: a warp an image
// memory      226 KB per block: all parameters but conv1's, copied while conv1 runs, and 4.6 KB per image, for h1, V,
//             what lanes exchange, h2, f1 and f2 in turn
// requires    compute capability 9.0, Layout::kSharedBytes, an image for each block and, if kMaxImages is Layout::kFew,
//             at most so many (medium_support() checks the GPU, MediumOperator chooses the kernel and the blocks)
// measured    H200, 256 / 1,000 images of bytes, fp32, predictions: 6.469 / 13.40 us
//             (docs/results/2026-11-30-h200/bench-batches.json)
template <int kMaxImages, typename Pixel, typename Output>
__global__ void __launch_bounds__(Layout::kThreads, 1)
    fused_lenet5_medium_kernel(const __grid_constant__ MediumArguments args) {
  using namespace cluster_lenet5;
  extern __shared__ __align__(128) float shared[];
  __shared__ uint64_t conv2_arrived, linear_arrived;
  float* const parameters = shared;
  float* const maps = shared + Layout::kFloats;

  let_next_launch_begin();
  // The shuffle makes the value uniform over a warp for the compiler, which computes places from it once for all lanes.
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 32, 0);
  __builtin_assume(warp >= 0 && warp < Layout::kWarps);
  if (threadIdx.x == 0) {
    barrier_init(&conv2_arrived);
    barrier_init(&linear_arrived);
    fence_barrier_init();
    constexpr int kConv2Bytes = Layout::kConv2Floats * 4, kLinearBytes = Layout::kLinearFloats * 4;
    barrier_arrive_expect(&conv2_arrived, kConv2Bytes);
    bulk_copy(parameters, args.packed, kConv2Bytes, &conv2_arrived);
    barrier_arrive_expect(&linear_arrived, kLinearBytes);
    bulk_copy(parameters + Layout::kConv2Floats, args.packed + Layout::kConv2Floats, kLinearBytes,
              &linear_arrived);
  }
  wait_for_launch_before();

  const int64_t blocks = gridDim.x, block = blockIdx.x;
  const int64_t share = args.count / blocks, rest = args.count % blocks;
  int64_t first = block * share + min(block, rest), left = share + (block < rest ? 1 : 0);
#pragma unroll 1
  while (left > 0) {
    const int images = kMaxImages <= Layout::kFew ? static_cast<int>(left) : Layout::images_of_turn(left);
    int lane = fused_lenet5::lane_of();
    conv1_stage(args.constants, static_cast<const Pixel*>(args.input) + first * fused_lenet5::kPixels, maps,
                images, warp, lane);
    // Otherwise the compiler computes the places of all later stages before conv1, which needs the registers.
    hide_lane(lane);
    __syncthreads();  // the barriers are visible from here on
    transform_stage(maps, images, warp, lane);
    __syncthreads();
    barrier_wait(&conv2_arrived, 0);
    conv2_stage<kMaxImages>(maps, parameters, images, warp, lane);
    __syncthreads();
    barrier_wait(&linear_arrived, 0);
    hide_lane(lane);
    if (images == 1) {
      hidden_layers<1>(maps, parameters, images, warp, lane);
    } else if (images == 2) {
      hidden_layers<2>(maps, parameters, images, warp, lane);
    } else if (images == 3) {
      hidden_layers<3>(maps, parameters, images, warp, lane);
    } else if constexpr (kMaxImages > Layout::kFew) {
      if (images == 4) {
        hidden_layers<4>(maps, parameters, images, warp, lane);
      } else if (images <= 6) {
        hidden_layers<6>(maps, parameters, images, warp, lane);
      } else if (images <= 8) {
        hidden_layers<8>(maps, parameters, images, warp, lane);
      } else {
        hidden_layers<10>(maps, parameters, images, warp, lane);
      }
    }
    if (warp < images) {
      const float logit = last_layer(maps + warp * Layout::kImage + Layout::kF2, parameters, lane);
      store_answer(static_cast<Output*>(args.output), args.probabilities, first + warp, logit, lane);
    }
    first += images;
    left -= images;
    if (left > 0) __syncthreads();  // h1 overwrites f2
  }
}

}  // namespace lenslet::medium_lenet5
