// Direct convolution for few outputs: the lanes of a block share out the channels of each sum.
//
// At batch 1 a layer has some thousand outputs, fewer than a GPU has threads. One thread per output would have to
// add hundreds of products one after the other, and wait for memory before most of them. Here a slice of the channels
// belongs to a group of lanes, and the slices' sums are added at the end. Formula and sources: ../sliced_k.cu.
#pragma once

#include <cstdint>

#include "framework/base/host_device.h"
#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/early_launch.cuh"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/rectifier.h"

namespace lenslet {

constexpr int kSlicedKMaxWarps = 8;

/// The problem and how blocks cut it. A block computes pixels() positions of kFilters filters of one image.
struct SlicedKShape {
  int c, h, w, k, p, q, r, s;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int group_channels, group_filters;  // C/G and K/G
  int pixel_bits, column_bits;        // of a block's positions and of those in a row: 1 << bits
  int warps;                          // of a block
  int warp_channels;                  // that a warp adds, in rounds
  int round, stages;  // channels that it stages at a time, and stages: 2 if there are several rounds
  int pitch, staged;  // floats of a staged row of inputs, and of a staged channel
  FastDivide by_pitch, by_column_tiles, by_row_tiles, by_filter_tiles;
  bool pool;  // store the maxima of 2x2
  Rectifier after;

  LENSLET_HOST_DEVICE int pixels() const { return 1 << pixel_bits; }
};

/// Starts to copy the weights of `channels` channels, [channels, taps, kFilters], to `target`.
template <int kFilters>
__device__ __forceinline__ void stage_sliced_k_weights(const float* __restrict__ weights, int channels,
                                                       int taps, float* target) {
  const float4* const source = reinterpret_cast<const float4*>(weights);
  for (int i = threadIdx.x % 32; i < channels * taps * (kFilters / 4); i += 32) {
    start_copy<sizeof(float4)>(reinterpret_cast<float4*>(target) + i, source + i);
  }
}

/// Starts to copy the inputs from (h0, w0) on, of `channels` planes, to `target` [channels, staged]: zero outside.
__device__ __forceinline__ void stage_sliced_k_inputs(const SlicedKShape& shape,
                                                      const float* __restrict__ planes, int channels, int h0,
                                                      int w0, float* target) {
  const int plane = shape.h * shape.w;
  for (int spot = threadIdx.x % 32; spot < shape.staged; spot += 32) {
    int column;
    const int h = h0 + shape.by_pitch.divide(spot, column), w = w0 + column;
    const bool inside = h >= 0 && h < shape.h && w >= 0 && w < shape.w;
    const float* from = inside ? planes + h * shape.w + w : planes;
    for (int c = 0; c < channels; ++c, from += plane) {
      start_copy_or_zero<sizeof(float)>(target + c * shape.staged + spot, from, inside);
    }
  }
}

/// Adds a channel's products to `sums`: its inputs from the position's corner on, its weights [R, S, kFilters].
template <int kWindow, int kFilters>
__device__ __forceinline__ void add_sliced_k_channel(const SlicedKShape& shape, const float* in,
                                                     const float* weights, float (&sums)[kFilters]) {
  const float4* weight = reinterpret_cast<const float4*>(weights);
  const auto add_tap = [&](float value) {
#pragma unroll
    for (int k = 0; k < kFilters; k += 4, ++weight) {
      const float4 four = *weight;
      sums[k] = fmaf(four.x, value, sums[k]);
      sums[k + 1] = fmaf(four.y, value, sums[k + 1]);
      sums[k + 2] = fmaf(four.z, value, sums[k + 2]);
      sums[k + 3] = fmaf(four.w, value, sums[k + 3]);
    }
  };
  if constexpr (kWindow > 0) {
#pragma unroll
    for (int r = 0; r < kWindow; ++r, in += shape.pitch) {
#pragma unroll
      for (int s = 0; s < kWindow; ++s) add_tap(in[s]);
    }
  } else {
    for (int r = 0; r < shape.r; ++r, in += shape.dilation_h * shape.pitch) {
      for (int s = 0; s < shape.s; ++s) add_tap(in[s * shape.dilation_w]);
    }
  }
}

// computes    y [N, K, P, Q] of x [N, C, H, W], any filter, stride, padding, dilation and groups, bias, any rectifier;
//             with `pool` the maxima of 2x2 windows of that, stride 2. kWindow: the side of a square filter without
//             dilation, 0 for any filter
// work split  block = pixels() positions (blockIdx.x) of kFilters filters (blockIdx.y); warp = warp_channels channels
//             of the group, in rounds; lane = a position, and of a round's channels every (32 / pixels())-th
// memory      shared: of each warp one or two stages of weights [round, R, S, kFilters] and zero-padded inputs [round,
//             staged], copied asynchronously, so that a warp waits for its own copies only. At the end the sums of
//             all slices [slices, kFilters, pixels()]
// requires    grid.y <= 65535, stages and sums within the shared memory (checked by sliced_k.cu)
// measured    H200, hot: one image, 64 channels, 8 x 8, 64 filters 3x3: 2.84 us
//             (docs/results/2026-11-28-h200/batch1.json)
template <int kWindow, int kFilters>
__global__ void __launch_bounds__(kSlicedKMaxWarps * 32) conv_sliced_k_kernel(
    const SlicedKShape shape,
    const float* __restrict__ x,        // [N, C, H, W]
    const float* __restrict__ filters,  // [G, filter tiles, C/G, R, S, kFilters], zero padded
    const float* __restrict__ bias,     // [G, filter tiles, kFilters]
    float* __restrict__ y) {            // [N, K, P, Q]
  static_assert(kFilters % 4 == 0, "weights are read as float4");
  extern __shared__ float4 sliced_k_shared[];
  let_next_launch_begin();
  float* const shared = reinterpret_cast<float*>(sliced_k_shared);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int taps = kWindow ? kWindow * kWindow : shape.r * shape.s;

  int column_tile, row_tile, tile_of_group;
  const int n = shape.by_row_tiles.divide(
      shape.by_column_tiles.divide(static_cast<int>(blockIdx.x), column_tile), row_tile);
  const int group = shape.by_filter_tiles.divide(static_cast<int>(blockIdx.y), tile_of_group);
  const int p0 = row_tile << (shape.pixel_bits - shape.column_bits), q0 = column_tile << shape.column_bits;
  const int h0 = p0 * shape.stride_h - shape.pad_h, w0 = q0 * shape.stride_w - shape.pad_w;
  const int first = warp * shape.warp_channels;
  const int channels = min(shape.warp_channels, shape.group_channels - first);  // below 1: none
  const int plane = shape.h * shape.w;
  const float* inputs =
      x + (static_cast<int64_t>(n) * shape.c + group * shape.group_channels + first) * plane;
  const float* weights =
      filters + (static_cast<int64_t>(blockIdx.y) * shape.group_channels + first) * taps * kFilters;

  const int input_offset = shape.round * taps * kFilters;
  const int stage_floats = input_offset + shape.round * shape.staged;
  float* const stages = shared + warp * shape.stages * stage_floats;
  const int slices = 32 >> shape.pixel_bits, slice = lane >> shape.pixel_bits,
            pixel = lane & (shape.pixels() - 1);
  const int corner = (pixel >> shape.column_bits) * shape.stride_h * shape.pitch +
                     (pixel & ((1 << shape.column_bits) - 1)) * shape.stride_w;
  float sums[kFilters];
#pragma unroll
  for (int k = 0; k < kFilters; ++k) sums[k] = 0.0f;

  // Weights are older than the launch before: they need not wait for it.
  stage_sliced_k_weights<kFilters>(weights, min(shape.round, channels), taps, stages);
  wait_for_launch_before();
  stage_sliced_k_inputs(shape, inputs, min(shape.round, channels), h0, w0, stages + input_offset);
  commit_started_copies();
  for (int done = 0, parity = 0; done < channels; done += shape.round, parity ^= 1) {
    const int next = done + shape.round;
    if (next < channels) {
      float* const target = stages + (parity ^ 1) * stage_floats;
      const int count = min(shape.round, channels - next);
      stage_sliced_k_weights<kFilters>(weights + static_cast<int64_t>(next) * taps * kFilters, count, taps,
                                       target);
      stage_sliced_k_inputs(shape, inputs + static_cast<int64_t>(next) * plane, count, h0, w0,
                            target + input_offset);
    }
    commit_started_copies();
    wait_for_started_copies<1>();
    __syncwarp();
    const float* const stage = stages + parity * stage_floats;
    const int count = min(shape.round, channels - done);
    for (int c = slice; c < count; c += slices) {
      add_sliced_k_channel<kWindow>(shape, stage + input_offset + c * shape.staged + corner,
                                    stage + c * taps * kFilters, sums);
    }
    __syncwarp();
  }

  __syncthreads();  // the sums lie where the stages were
  const int outputs = kFilters << shape.pixel_bits;
#pragma unroll
  for (int k = 0; k < kFilters; ++k) {
    shared[(warp * slices + slice) * outputs + (k << shape.pixel_bits) + pixel] = sums[k];
  }
  __syncthreads();
  const int halves = shape.pool ? 1 : 0, cell = 1 << halves;  // of a stored value: cell x cell positions
  const int stored_bits = shape.pixel_bits - 2 * halves, stored_column_bits = shape.column_bits - halves;
  const int stored_p = shape.p >> halves, stored_q = shape.q >> halves;
  for (int i = threadIdx.x; i < kFilters << stored_bits; i += blockDim.x) {
    const int k = i >> stored_bits, at = i & ((1 << stored_bits) - 1);
    const int row = at >> stored_column_bits, column = at & ((1 << stored_column_bits) - 1);
    const int filter = tile_of_group * kFilters + k;
    const int p = (p0 >> halves) + row, q = (q0 >> halves) + column;
    if (filter >= shape.group_filters || p >= stored_p || q >= stored_q) continue;
    const float start = __ldg(bias + static_cast<int64_t>(blockIdx.y) * kFilters + k);
    float largest = -INFINITY;
    for (int j = 0; j < cell * cell; ++j) {
      const int position = (((row << halves) + (j >> 1)) << shape.column_bits) + (column << halves) + (j & 1);
      const float* const of_slices = shared + (k << shape.pixel_bits) + position;
      float sum = start;
      for (int slice_of_all = 0; slice_of_all < shape.warps * slices; ++slice_of_all) {
        sum += of_slices[slice_of_all * outputs];
      }
      largest = max_keep_nan(largest, sum);
    }
    const int64_t y_plane = static_cast<int64_t>(n) * shape.k + group * shape.group_filters + filter;
    y[(y_plane * stored_p + p) * stored_q + q] = shape.after.of(largest);
  }
}

}  // namespace lenslet
