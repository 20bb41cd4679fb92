// Convolution of few channels to few filters on tensor cores, image by image: LeNet's layers. Whole images lie in
// shared memory, the filters in registers. Formula and sources: ../tensor_core.cu.
//
// One row r of a filter is a product of its own: filters [16, K] x inputs [K, 8], where a column of the inputs is what
// row i of an image offers to one strip. A strip is kWide neighbouring columns of outputs, kRows rows down. Row i
// serves the output rows i - kR + 1 to i, so a lane reads and rounds each operand once for kR products, and nothing is
// unrolled: the K inputs of a strip are C runs of S + kWide - 1 neighbours. kWide = 2 puts 8 filters at two positions
// into the 16 rows, shifted by one input; then the four outputs of a pooling window are in one lane, as with kWide = 1.
#pragma once

#include <cstdint>
#include <type_traits>

#include "framework/instructions/async_copy.cuh"
#include "framework/instructions/mma.cuh"
#include "framework/tensor/math_mode.h"
#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"

namespace lenslet {

constexpr int kFewThreads = 128;
constexpr int kFewBlocks = 4;  // of a multiprocessor: 48 KiB of shared memory each. Chosen by hand
constexpr int kFewRows = 8;    // of a strip; more need more sums than registers hold

struct TensorCoreFewShape {
  int n, k;
  int taps;                 // of a strip in one row: C * (S + kWide - 1)
  int run;                  // S + kWide - 1
  int h, w, pad_h, pad_w;   // input plane
  int pitch, plane;         // of a staged channel: elements of a row, W + 2 pad_w, and of H + 2 pad_h rows
  int image, output_image;  // C*H*W, and elements of an image of y
  int stage;                // elements of a stage: `images` images, and what strips read beyond them
  int images;               // of a stage
  int strips, row_strips;   // strips of an image, and of kFewRows rows of it
  int p, q;                 // outputs that are computed; with `pool`, of whole windows
  int output_plane, output_pitch;  // of y
  FastDivide by_strips, by_row_strips, by_h, by_w;
  bool relu, pool;    // pool: store maxima of 2x2
  bool half_outputs;  // y is fp16
};

/// Sizes of a variant: kUnits times 8 taps of a strip, kWide x kRows outputs of a strip. kHalves: x is fp16.
template <MathMode kMode, int kFilterRows, int kStripColumns, int kTapUnits, bool kHalves = false>
struct TensorCoreFewTile {
  static constexpr MathMode kMath = kMode;
  using Input =
      std::conditional_t<kHalves, uint16_t, float>;  // an element of x: the bits of an fp16, or an fp32
  static_assert(!kHalves || kMode == MathMode::kFp16, "fp16 is multiplied as it is");
  static constexpr int kR = kFilterRows, kWide = kStripColumns, kUnits = kTapUnits, kRows = kFewRows;
  static constexpr int kThreads = kFewThreads, kStrips = 8;        // strips of a product
  static constexpr int kWords = kMode == MathMode::kTf32 ? 4 : 2;  // of a lane, for the filters of a unit
  // The kernel of halves with five rows would take 142 registers, of which three blocks fit. 0 leaves the number open.
  static constexpr int kMinBlocks = kHalves ? kFewBlocks : 0;
  static_assert(kRows % 2 == 0, "a strip has whole windows");
};

/// Where a strip lies in a stage and in the staged outputs, in elements; its rows and columns of outputs that exist, 0
/// or less: none.
struct alignas(16) TensorCoreFewStrip {
  int input, output, rows, columns;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/// Starts to copy the images from `first` on to a stage. A border for the padding stays as it is.
__device__ __forceinline__ void fetch_few_images(const TensorCoreFewShape& shape, const float* x,
                                                 int64_t first, float* stage, int threads) {
  const int thread = static_cast<int>(threadIdx.x);
  const int count = static_cast<int>(min(int64_t{shape.images}, shape.n - first)) * shape.image;
  const int64_t start = first * shape.image;
  const float* source = x + start;
  if (shape.plane != shape.h * shape.w) {
    for (int i = thread; i < count; i += threads) {
      int column, row;
      const int plane = shape.by_h.divide(shape.by_w.divide(i, column), row);
      copy_async_4(shared_address(stage + plane * shape.plane + (row + shape.pad_h) * shape.pitch + column +
                                  shape.pad_w),
                   source + i);
    }
    return;
  }
  const int quads = start % 4 == 0 ? count / 4 : 0;
  for (int i = thread; i < quads; i += threads) copy_async_16(shared_address(stage + i * 4), source + i * 4);
  for (int i = quads * 4 + thread; i < count; i += threads)
    copy_async_4(shared_address(stage + i), source + i);
}

/// The same of fp16: images of whole pieces of 16 bytes, without padding (few_takes()).
__device__ __forceinline__ void fetch_few_images(const TensorCoreFewShape& shape, const uint16_t* x,
                                                 int64_t first, uint16_t* stage, int threads) {
  const int count = static_cast<int>(min(int64_t{shape.images}, shape.n - first)) * shape.image;
  const uint16_t* source = x + first * shape.image;
  for (int i = static_cast<int>(threadIdx.x); i < count / 8; i += threads)
    copy_async_16(shared_address(stage + i * 8), source + i * 8);
}

/// Two operands of a product in fp16, the first in the lower half.
__device__ __forceinline__ uint32_t pack_operands(float low, float high) { return pack_halves(low, high); }
__device__ __forceinline__ uint32_t pack_operands(uint16_t low, uint16_t high) {
  return low | static_cast<uint32_t>(high) << 16;
}

/// The sums of 8 strips: sums[row] is a lane's part of the product of that row.
template <class Tile>
__device__ __forceinline__ void multiply_few_strips(const typename Tile::Input* inputs, int corner, int pitch,
                                                    const int (&taps)[Tile::kUnits][2],
                                                    const uint32_t (&masks)[Tile::kUnits][2],
                                                    const uint32_t (&a)[Tile::kR][Tile::kUnits][Tile::kWords],
                                                    float (&sums)[Tile::kRows][4]) {
  constexpr int kUnits = Tile::kUnits, kR = Tile::kR, kRows = Tile::kRows;
  int places[kUnits][2];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) places[u][0] = corner + taps[u][0], places[u][1] = corner + taps[u][1];
#pragma unroll
  for (int i = 0; i < kRows + kR - 1; ++i) {
    const typename Tile::Input* row = inputs + i * pitch;  // one for all lanes
    typename Tile::Input value[kUnits][2];
#pragma unroll
    for (int u = 0; u < kUnits; ++u) value[u][0] = row[places[u][0]], value[u][1] = row[places[u][1]];
    // Taps that only fill the last units count as zeros, whatever is read. choose_variant() takes the fewest units that
    // hold the taps, so the first half of them is full. The strips of two columns need no mask:
    // there an infinity or a NaN reaches the neighbouring output anyway.
    const auto masked = [](int u) { return Tile::kWide == 1 && u >= kUnits / 2; };
    if constexpr (Tile::kMath == MathMode::kTf32) {
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        uint32_t b0 = round_to_nearest_tf32(value[u][0]), b1 = round_to_nearest_tf32(value[u][1]);
        if (masked(u)) b0 &= masks[u][0], b1 &= masks[u][1];
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          if (i < r || i - r >= kRows) continue;
          multiply_tf32(sums[i - r], {a[r][u][0], a[r][u][1], a[r][u][2], a[r][u][3]}, b0, b1, sums[i - r]);
        }
      }
    } else {
      uint32_t b[kUnits];
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        b[u] = pack_operands(value[u][0], value[u][1]);
        if (masked(u)) b[u] &= masks[u][0];
      }
#pragma unroll
      for (int u = 0; u < kUnits; u += 2) {
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          if (i < r || i - r >= kRows) continue;
          if constexpr (kUnits == 1) {
            multiply_fp16(sums[i - r], a[r][u][0], a[r][u][1], b[u], sums[i - r]);
          } else {
            multiply_fp16(sums[i - r], {a[r][u][0], a[r][u][1], a[r][u + 1][0], a[r][u + 1][1]}, b[u],
                          b[u + 1], sums[i - r]);
          }
        }
      }
    }
  }
}

/// Writes the outputs of 8 strips, or their maxima, to the staged outputs. Columns 2t and 2t + 1 of the product are the
/// lane's strips; its rows g and g + 8 are two filters, or two positions of one filter.
template <class Tile>
__device__ __forceinline__ void store_few_strips(const TensorCoreFewShape& shape,
                                                 const TensorCoreFewStrip* strips,
                                                 const float (&sums)[Tile::kRows][4], float* outputs) {
  const int lane = static_cast<int>(threadIdx.x % 32), g = lane / 4, t = lane % 4;
  const float floor = output_floor(shape.relu);
  const auto largest = [&](float a, float b, float c, float d) {
    return max_keep_nan(max_keep_nan(max_keep_nan(a, b), max_keep_nan(c, d)), floor);
  };
  const bool low = g < shape.k, high = Tile::kWide == 1 ? g + 8 < shape.k : low;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const TensorCoreFewStrip strip = strips[2 * t + e];
    float* target = outputs + strip.output + g * shape.output_plane;
    if (shape.pool) {
      if (Tile::kWide == 1 && e == 1) break;  // both strips of the lane are in one window
#pragma unroll
      for (int y = 0; y < Tile::kRows; y += 2, target += shape.output_pitch) {
        if (y >= strip.rows) break;
        const float(&top)[4] = sums[y];
        const float(&bottom)[4] = sums[y + 1];
        if constexpr (Tile::kWide == 1) {
          if (low) target[0] = largest(top[0], top[1], bottom[0], bottom[1]);
          if (high) target[8 * shape.output_plane] = largest(top[2], top[3], bottom[2], bottom[3]);
        } else {
          if (low) target[0] = largest(top[e], top[2 + e], bottom[e], bottom[2 + e]);
        }
      }
    } else {
#pragma unroll
      for (int y = 0; y < Tile::kRows; ++y, target += shape.output_pitch) {
        if (y >= strip.rows || strip.columns == 0) break;
        if (low) target[0] = relu_if(shape.relu, sums[y][e]);
        const bool second = high && (Tile::kWide == 1 || strip.columns > 1);
        if (second)
          target[Tile::kWide == 1 ? 8 * shape.output_plane : 1] = relu_if(shape.relu, sums[y][2 + e]);
      }
    }
  }
}
/// Writes staged outputs, `count` from `first` on, to y as fp16.
__device__ __forceinline__ void write_few_halves(const float* outputs, uint16_t* y, int64_t first, int count,
                                                 int threads) {
  const int thread = static_cast<int>(threadIdx.x);
  uint16_t* target = y + first;
  const int pieces = first % 8 == 0 ? count / 8 : 0;
  for (int i = thread; i < pieces; i += threads) {
    const float4 low = reinterpret_cast<const float4*>(outputs)[2 * i],
                 high = reinterpret_cast<const float4*>(outputs)[2 * i + 1];
    reinterpret_cast<uint4*>(target)[i] =
        make_uint4(pack_halves(low.x, low.y), pack_halves(low.z, low.w), pack_halves(high.x, high.y),
                   pack_halves(high.z, high.w));
  }
  for (int i = pieces * 8 + thread; i < count; i += threads)
    target[i] = __half_as_ushort(__float2half_rn(outputs[i]));
}
#endif

// computes    y [N, K, P, Q] of x [N, C, H, W] with K filters kR x S, stride 1, bias, optional ReLU; with `pool` the
//             maxima of 2x2 windows of that, stride 2; operands rounded to tf32 or fp16, sums in fp32; x and y fp32
//             or, for a layer between others, fp16
// work split  persistent blocks over `images` images at a time; warp = 8 strips of kWide x kRows outputs, all filters
// memory      shared: two stages of whole images with their padding, filled by cp.async one stage ahead; the outputs
//             of a stage, stored from there as they lie in y; a table of strips. Registers: all filters
// requires    compute capability 8.0 (checked by tensor_core.cu); what few_support() checks
// measured    H200, tf32: LeNet's conv1 / conv2 with pooling, batch 10,000, hot: 36.45 / 33.18 us
//             (docs/results/2026-11-30-h200/profile-batch-10000-tf32.json)
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kMinBlocks) conv_tensor_core_few_kernel(
    const TensorCoreFewShape shape,
    const float* __restrict__ x,           // [N, C, H, W] of Tile::Input
    const uint32_t* __restrict__ filters,  // [kR, kUnits, 32 lanes, kWords] packed
    const float* __restrict__ bias,        // [16]
    float* __restrict__ y) {               // [N, K, P, Q], with half_outputs of fp16
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int kUnits = Tile::kUnits, kWords = Tile::kWords, kThreads = Tile::kThreads;
  using Input = typename Tile::Input;
  auto* stages = reinterpret_cast<Input*>(shared);
  auto* outputs = reinterpret_cast<float*>(stages + 2 * shape.stage);
  auto* strips =
      reinterpret_cast<TensorCoreFewStrip*>(outputs + (shape.images * shape.output_image + 3) / 4 * 4);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int g = lane / 4, t = lane % 4;

  const int all_strips = shape.images * shape.strips;
  for (int i = thread; i < (all_strips + Tile::kStrips - 1) / Tile::kStrips * Tile::kStrips; i += kThreads) {
    int in_image, across;
    const int image = shape.by_strips.divide(i, in_image);
    const int first_row = shape.by_row_strips.divide(in_image, across) * Tile::kRows;
    const int first_column = across * Tile::kWide, half = shape.pool ? 2 : 1;
    strips[i] = i < all_strips
                    ? TensorCoreFewStrip{image * (shape.image / (shape.h * shape.w)) * shape.plane +
                                             first_row * shape.pitch + first_column,
                                         image * shape.output_image + first_row / half * shape.output_pitch +
                                             first_column / half,
                                         shape.p - first_row, shape.q - first_column}
                    : TensorCoreFewStrip{0, 0, 0, 0};
  }
  if (shape.plane != shape.h * shape.w) {
    for (int i = thread; i < 2 * shape.stage; i += kThreads) stages[i] = 0;
  }
  uint32_t a[Tile::kR][kUnits][kWords];
#pragma unroll
  for (int i = 0; i < Tile::kR * kUnits * kWords; ++i) {
    (&a[0][0][0])[i] = __ldg(filters + (i / kWords * 32 + lane) * kWords + i % kWords);
  }
  const float low_bias = __ldg(bias + g), high_bias = __ldg(bias + (Tile::kWide == 1 ? g + 8 : g));
  int taps[kUnits][2];
  uint32_t masks[kUnits][2];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int wanted = u * 8 + e * 4 + t, tap = min(wanted, shape.taps - 1);
      taps[u][e] = tap / shape.run * shape.plane + tap % shape.run;
      masks[u][e] = wanted < shape.taps ? 0xffffffffu : 0;
    }
    if (Tile::kMath != MathMode::kTf32) masks[u][0] = (masks[u][0] & 0xffffu) | (masks[u][1] & 0xffff0000u);
  }
  __syncthreads();

  int64_t first = static_cast<int64_t>(blockIdx.x) * shape.images;
  const int64_t step = static_cast<int64_t>(gridDim.x) * shape.images;
  const auto* images_of_x = reinterpret_cast<const Input*>(x);
  if (first < shape.n) fetch_few_images(shape, images_of_x, first, stages, kThreads);
  commit_copies();
  for (int stage = 0; first < shape.n; first += step, stage ^= 1) {
    wait_for_copies<0>();
    __syncthreads();  // the stage is visible; no thread reads the other one or the outputs any more
    if (first + step < shape.n)
      fetch_few_images(shape, images_of_x, first + step, stages + (stage ^ 1) * shape.stage, kThreads);
    commit_copies();
    const Input* inputs = stages + stage * shape.stage;
    const int images = static_cast<int>(min(int64_t{shape.images}, shape.n - first));
    for (int tile = warp * Tile::kStrips; tile < images * shape.strips;
         tile += kThreads / 32 * Tile::kStrips) {
      float sums[Tile::kRows][4];
#pragma unroll
      for (int i = 0; i < Tile::kRows; ++i) {
        sums[i][0] = sums[i][1] = low_bias;
        sums[i][2] = sums[i][3] = high_bias;
      }
      multiply_few_strips<Tile>(inputs, strips[tile + g].input, shape.pitch, taps, masks, a, sums);
      store_few_strips<Tile>(shape, strips + tile, sums, outputs);
    }
    __syncthreads();
    const int count = images * shape.output_image;
    if (shape.half_outputs) {
      write_few_halves(outputs, reinterpret_cast<uint16_t*>(y), first * shape.output_image, count, kThreads);
      continue;
    }
    float* target = y + first * shape.output_image;
    const int quads = first * shape.output_image % 4 == 0 ? count / 4 : 0;
    for (int i = thread; i < quads; i += kThreads) {
      reinterpret_cast<float4*>(target)[i] = reinterpret_cast<const float4*>(outputs)[i];
    }
    for (int i = quads * 4 + thread; i < count; i += kThreads) target[i] = outputs[i];
  }
#endif
}

}  // namespace lenslet
