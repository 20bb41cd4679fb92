// The convolutions of the backend `medium`, by Winograd's F(4, 5) along the rows (winograd.h), direct down the
// columns. Internal: includes CUDA.
//
// Few images must keep 16 warps busy, so a thread has a smaller part than in the backend `fp32`: of conv1 one or three
// filters of a tile, of conv2 one of the eight points of two or four filters. The eight lanes with the points of the
// same outputs exchange their sums, by shuffles or through shared memory, after which each transforms an eighth of the
// outputs.
#pragma once

#include <type_traits>

#include "framework/instructions/warp.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"
#include "models/fused_lenet5/gpu/medium/layout.h"
#include "models/fused_lenet5/gpu/winograd_conv1.cuh"

namespace lenslet::medium_lenet5 {

using fused_lenet5::hide_value;
using fused_lenet5::WinogradF45;

/// hide_value() of a lane, except that it is below 32: the compiler then divides by shifts.
__device__ __forceinline__ void hide_lane(int& lane) {
  hide_value(lane);
  __builtin_assume(lane >= 0 && lane < 32);
}

/// conv1, ReLU and pooling of `images` images: pixels -> h1. A warp takes the same filters of up to 32 tiles of 6 x 4
/// outputs, 24 of them an image.
template <typename Pixel>
__device__ __forceinline__ void conv1_stage(const fused_lenet5::WinogradConstants& constants,
                                            const Pixel* pixels, float* maps, int images, int warp,
                                            int lane) {
  // A tile's pixels are transformed once for all filters of a warp; with up to two images more warps are faster.
  const int filters = images <= 2 ? 1 : 3, warps = (Layout::kTiles * images + 31) / 32;
  // Computed from threadIdx, not from `warp`: from a uniform value the compiler reads weights to uniform registers,
  // just before their use.
  const int first = static_cast<int>(threadIdx.x) / 32 / warps * filters;
  const int task = warp % warps * 32 + lane;
  if (first >= kLenet5Maps1 || task >= Layout::kTiles * images) return;
  const int image = task / Layout::kTiles, row = task % Layout::kTiles / Layout::kTileColumns,
            column = task % Layout::kTileColumns;
  fused_lenet5::winograd_conv1<Layout::kMap>(
      constants, pixels + image * fused_lenet5::kPixels + row * Layout::kTilePixelRow + column * 4,
      maps + image * Layout::kImage + row * Layout::kTilePooledRow + column * 2, first, filters);
}

/// Places are in bytes: of an exclusive or of indices of floats the compiler would multiply each result by four.
constexpr int kBytes = sizeof(float);
template <typename Float>
__device__ __forceinline__ Float* at_byte(Float* maps, int place) {
  using Byte = std::conditional_t<std::is_const_v<Float>, const char, char>;
  return reinterpret_cast<Float*>(reinterpret_cast<Byte*>(maps) + place);
}

/// h1 -> V in place: a warp takes a map, half a warp the 12 rows of a half of eight inputs.
__device__ __forceinline__ void transform_stage(float* maps, int images, int warp, int lane) {
  const int half = lane / 16, row = lane % 16;
  const bool transforms = row < kLenet5Side1;
  const int from = row * kLenet5Side1 + half * 4, to = Layout::point_place(half, row / 4, 0) + row % 4;
#pragma unroll 1
  for (int map = warp; map < kLenet5Maps1 * images; map += Layout::kWarps) {
    float d[8], v[8];
    if (transforms) {
      const float* const source = maps + map * Layout::kMap + from;
      *reinterpret_cast<float4*>(d) = *reinterpret_cast<const float4*>(source);
      *reinterpret_cast<float4*>(d + 4) = *reinterpret_cast<const float4*>(source + 4);
    }
    __syncwarp();
    if (transforms) {
      WinogradF45::input(d, v);
#pragma unroll
      for (int point = 0; point < 8; ++point)
        *at_byte(maps, (map * Layout::kMap + to) * kBytes ^ point * 4 * kBytes) = v[point];
    }
  }
}

/// The products of a point: 8 rows of 2 or 4 filters. place: of V at the point, in bytes; filters: U of the point.
template <int kFilters>
__device__ __forceinline__ void conv2_point(const float* maps, int place, const float* filters,
                                            float (&sums)[8][kFilters]) {
  using Filters = std::conditional_t<kFilters == 4, float4, float2>;
  const float* quads[Layout::kQuads];
#pragma unroll
  for (int i = 0; i < Layout::kQuads; ++i)
    quads[i] = at_byte(maps, place ^ i * 4 * kBytes) + i * Layout::kQuad;
#pragma unroll 2
  for (int c = 0; c < kLenet5Maps1; ++c) {
    float x[kLenet5Side1], w[kLenet5Filter * kFilters];
#pragma unroll
    for (int i = 0; i < Layout::kQuads; ++i)
      *reinterpret_cast<float4*>(x + 4 * i) = *reinterpret_cast<const float4*>(quads[i] + c * Layout::kMap);
#pragma unroll
    for (int r = 0; r < kLenet5Filter; ++r) {
      *reinterpret_cast<Filters*>(w + r * kFilters) =
          *reinterpret_cast<const Filters*>(filters + c * Layout::kChannelFilters + r * 4);
    }
#pragma unroll
    for (int r = 0; r < kLenet5Filter; ++r) {
#pragma unroll
      for (int f = 0; f < kFilters; ++f) {
#pragma unroll
        for (int y = 0; y < 8; ++y) sums[y][f] = fmaf(x[y + r], w[r * kFilters + f], sums[y][f]);
      }
    }
  }
}

/// Exchanges values between lanes that differ in kBit. Each lane has `low` for the lane without kBit and `high` for the
/// one with it; afterwards both are the lane's own, from the lane without kBit and from the one with it.
template <int kBit>
__device__ __forceinline__ void exchange(float& low, float& high) {
  const bool upper = (threadIdx.x & kBit) != 0;
  const float theirs = __shfl_xor_sync(kAllLanes, upper ? low : high, kBit);
  low = upper ? theirs : low;
  high = upper ? high : theirs;
}

/// A^T, ReLU and pooling of one filter: two rows and a tile's four columns of outputs become two pooled ones. products:
/// of these rows.
__device__ __forceinline__ float2 conv2_pooled(const float (&products)[8][2], float bias) {
  float y[2][4];
#pragma unroll
  for (int row = 0; row < 2; ++row) {
#pragma unroll
    for (int column = 0; column < 4; ++column) y[row][column] = bias;
#pragma unroll
    for (int pair = 0; pair < 3; ++pair) {
      WinogradF45::add_pair(products[2 * pair][row], products[2 * pair + 1][row], WinogradF45::power(pair, 1),
                            WinogradF45::power(pair, 2), WinogradF45::power(pair, 3), y[row]);
    }
    y[row][0] += products[6][row];  // zero
    y[row][3] += products[7][row];  // infinity
  }
  return {fused_lenet5::relu_pool_bits(y[0][0], y[0][1], y[1][0], y[1][1]),
          fused_lenet5::relu_pool_bits(y[0][2], y[0][3], y[1][2], y[1][3])};
}

/// The part of conv2 that a warp computes: kFilters filters for a lane; 8 / kFilters warps share an image.
template <int kFilters>
struct Conv2Part {
  static constexpr int kSharers = 8 / kFilters, kHalf = kFilters / 2;
  int image, sharer;
  // [rows][filters] of the lane's point. Set to zero here, so that the compiler keeps no sums of the turn before.
  float sums[8][kFilters] = {};

  __device__ __forceinline__ Conv2Part(int first_image, int warp)
      : image(first_image + warp / kSharers), sharer(warp % kSharers) {}
  /// The first of the filters that a lane multiplies.
  __device__ __forceinline__ int first(int lane) const { return (sharer * 2 + lane / 16) * kFilters; }
  /// The filter of a lane's pooled output k, of kHalf.
  __device__ __forceinline__ int own(int k, int lane) const {
    return first(lane) + (lane & 4) / 4 * kHalf + k;
  }
  __device__ __forceinline__ void multiply(const float* maps, const float* parameters, int lane) {
    const int point = lane % 8, at = first(lane);
    conv2_point(maps, (image * Layout::kImage + Layout::point_place(lane / 8 % 2, 0, point)) * kBytes,
                parameters + at / 4 * Layout::kQuadFilters + point * Layout::kPointFilters + at % 4, sums);
  }
  __device__ __forceinline__ void store(float* maps, int k, int lane, float2 pooled) const {
    *reinterpret_cast<float2*>(maps + image * Layout::kImage + Layout::kH2 + own(k, lane) * 16 +
                               (lane & 3) * 4 + lane / 8 % 2 * 2) = pooled;
  }
};

/// Eight lanes exchange the products of their points by shuffles: an eighth of the outputs for each.
__device__ __forceinline__ float2 exchange_by_shuffles(Conv2Part<2>& part, const float* bias, int lane) {
  auto& sums = part.sums;
#pragma unroll
  for (int i = 0; i < 8; ++i) exchange<4>(sums[i][0], sums[i][1]);
#pragma unroll
  for (int i = 0; i < 8; ++i) exchange<2>(sums[i / 2][i % 2], sums[i / 2 + 4][i % 2]);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    exchange<1>(sums[i / 4 * 4 + i / 2 % 2][i % 2], sums[i / 4 * 4 + i / 2 % 2 + 2][i % 2]);
  float products[8][2];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int point = i / 2;
    products[point][i % 2] = sums[(point & 2) * 2 + (point & 1) * 2 + i % 2][point / 4];
  }
  return conv2_pooled(products, bias[part.own(0, lane)]);
}

/// The same through shared memory, in the place of V, which no warp may read any more; then the outputs to h2. A lane's
/// filters in two rounds.
__device__ __forceinline__ void exchange_in_shared(const Conv2Part<4>& part, float* maps, const float* bias,
                                                   int lane) {
  // Pairs of rows [8 points][8 lanes that read them], exchanged so that writes as well as reads are in different banks.
  constexpr int kPair = sizeof(float2);
  const int point = lane % 8, group = part.image * Layout::kImage + part.sharer * Layout::kExchange +
                                      lane / 16 * Layout::kExchangeGroups +
                                      lane / 8 % 2 * Layout::kExchangeGroup;
  const int written = group * 4 + point * 9 * kPair, read = group * 4 + point * kPair;
  char* const bytes = reinterpret_cast<char*>(maps);
  float2 pooled[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    if (k > 0) __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int filter = i / 4 * 2 + k, row = i % 4 * 2;
      *reinterpret_cast<float2*>(bytes + (written ^ i * kPair)) = {part.sums[row][filter],
                                                                   part.sums[row + 1][filter]};
    }
    __syncwarp();
    float products[8][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 rows = *reinterpret_cast<const float2*>(bytes + (read ^ i * kPair) + i * 8 * kPair);
      products[i][0] = rows.x;
      products[i][1] = rows.y;
    }
    pooled[k] = conv2_pooled(products, bias[part.own(k, lane)]);
  }
  __syncwarp();  // h2 overwrites this
#pragma unroll
  for (int k = 0; k < 2; ++k) part.store(maps, k, lane, pooled[k]);
}

/// conv2, ReLU and pooling of `images` images, kMaxImages at most: V -> h2 in place. Four filters for a lane of up to
/// eight images; two, so that more warps have work, of up to kFew images, and of those beyond eight. Bits are the same.
template <int kMaxImages>
__device__ __forceinline__ void conv2_stage(float* maps, const float* parameters, int images, int warp,
                                            int lane) {
  const float* const bias = parameters + Layout::kBias2;
  if constexpr (kMaxImages <= Layout::kFew) {
    Conv2Part<2> two(0, warp);
    const bool computes = two.image < images;
    float2 pooled{};
    if (computes) {
      two.multiply(maps, parameters, lane);
      pooled = exchange_by_shuffles(two, bias, lane);
    }
    __syncthreads();  // h2 overwrites V
    if (computes) two.store(maps, 0, lane, pooled);
  } else {
    const bool few = images <= Layout::kFew;
    Conv2Part<2> two(few ? 0 : 8, warp);
    Conv2Part<4> four(0, warp);
    const bool computes_two = two.image < images, computes_four = !few && four.image < images;
    float2 pooled{};
    if (computes_two) {
      two.multiply(maps, parameters, lane);
      pooled = exchange_by_shuffles(two, bias, lane);
    }
    if (computes_four) four.multiply(maps, parameters, lane);
    __syncthreads();  // h2 overwrites V, and so do the exchanged sums
    hide_lane(lane);
    if (computes_two) two.store(maps, 0, lane, pooled);
    if (computes_four) exchange_in_shared(four, maps, bias, lane);
  }
}

}  // namespace lenslet::medium_lenet5
