// The loaders of the convolution whose tile serves all taps: input slices from global to shared memory, rounded.
#pragma once

#include "framework/instructions/barrier.cuh"
#include "framework/instructions/mma.cuh"
#include "layers/conv/gpu/tensor_core/wgmma_tile.cuh"

namespace lenslet {

/// A block of 32 pixels x kStepChannels channels on its way from global to shared memory, in a warp's registers. NCHW:
/// a lane has one pixel, neighbouring lanes read neighbouring pixels. NHWC: two lanes have a pixel, four channels each.
template <class Tile>
class WgmmaInputs {
 public:
  /// `first` is the block's first padded pixel.
  __device__ __forceinline__ void locate(const WgmmaShape& shape, int first) {
#pragma unroll
    for (int i = 0; i < kSources; ++i) sources_[i] = wgmma_source<Tile>(shape, first + pixel(i));
  }
  /// Begins to load channels from `channel` on.
  __device__ __forceinline__ void load(const WgmmaShape& shape, const float* __restrict__ x, int channel) {
    if constexpr (Tile::kNhwc) {
      const int c = channel + static_cast<int>(threadIdx.x % 2) * 4;
#pragma unroll
      for (int i = 0; i < kSources; ++i) {
        const float4 four = sources_[i] >= 0 && c < shape.c
                                ? __ldg(reinterpret_cast<const float4*>(x + sources_[i] + c))
                                : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        values_[4 * i] = four.x;
        values_[4 * i + 1] = four.y;
        values_[4 * i + 2] = four.z;
        values_[4 * i + 3] = four.w;
      }
    } else {
      const float* from = x + sources_[0] + channel * shape.channel_pitch;
      const int left = sources_[0] >= 0 ? shape.c - channel : 0;
#pragma unroll
      for (int c = 0; c < Tile::kStepChannels; ++c) {
        values_[c] = c < left ? __ldg(from) : 0.0f;
        from += shape.channel_pitch;
      }
    }
  }
  /// Rounds and stores as pixels `first`... of `slice` [kPieces][pitch]; skips pixels past the pitch. The pitch is 4
  /// modulo 8, so that two pieces of four pixels fill all banks.
  __device__ __forceinline__ void store(uint4* slice, int pitch, int first, int step) const {
    const int half = static_cast<int>(threadIdx.x % 2);  // of what two lanes have in NHWC
#pragma unroll
    for (int i = 0; i < kSources; ++i) {
      const int at = first + pixel(i);
      if (at >= pitch) continue;
      if constexpr (Tile::kMath == MathMode::kTf32) {
        static_assert(!Tile::kNhwc, "tf32 has NCHW alone");
        slice[at] = pack_tf32(values_);
        slice[pitch + at] = pack_tf32(values_ + 4);
      } else if constexpr (Tile::kNhwc) {
        reinterpret_cast<uint2*>(slice + step * pitch + at)[half] = pack_fp16(values_ + 4 * i);
      } else {
        const uint2 low = pack_fp16(values_), high = pack_fp16(values_ + 4);
        slice[step * pitch + at] = make_uint4(low.x, low.y, high.x, high.y);
      }
    }
  }

 private:
  static constexpr int kSources = Tile::kNhwc ? 2 : 1;
  static __device__ __forceinline__ int pixel(int source) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return Tile::kNhwc ? source * 16 + lane / 2 : lane;
  }
  static __device__ __forceinline__ uint4 pack_tf32(const float* values) {
    return make_uint4(round_to_tf32_in_any_order(values[0]), round_to_tf32_in_any_order(values[1]),
                      round_to_tf32_in_any_order(values[2]), round_to_tf32_in_any_order(values[3]));
  }
  static __device__ __forceinline__ uint2 pack_fp16(const float* values) {
    return make_uint2(pack_halves(values[0], values[1]), pack_halves(values[2], values[3]));
  }
  int sources_[kSources];
  float values_[Tile::kStepChannels];
};

/// One loader warp: has blocks warp, warp + kLoaders, ... of every slice of every tile of this thread block. Each
/// step's values are on their way while the warp waits for their slice's buffer of the ring.
template <class Tile>
__device__ __forceinline__ void wgmma_load_inputs(const WgmmaShape& shape, const float* __restrict__ x,
                                                  unsigned char* slices, uint32_t barriers, int warp) {
  constexpr int kRound = Tile::kOwned * Tile::kLoaders;  // blocks
  const int slice_bytes = Tile::kPieces * shape.pitch * 16;
  const int rounds = (shape.blocks + kRound - 1) / kRound;
  WgmmaInputs<Tile> blocks[Tile::kOwned];
  RingPosition at;
  int tile = static_cast<int>(blockIdx.x), slice = 0, step = 0, round = 0;
  const auto load = [&] {
    if (rounds > 1 || (slice == 0 && step == 0)) {
      int filter_tile;
      const int first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels;
#pragma unroll
      for (int i = 0; i < Tile::kOwned; ++i) {
        blocks[i].locate(shape, first + (round * kRound + i * Tile::kLoaders + warp) * 32);
      }
    }
#pragma unroll
    for (int i = 0; i < Tile::kOwned; ++i) {
      if (round * kRound + i * Tile::kLoaders + warp < shape.blocks) {
        blocks[i].load(shape, x, slice * Tile::kChannels + step * Tile::kStepChannels);
      }
    }
  };
  load();
  while (true) {
    const uint32_t full = barriers + at.index * kBarrierPairBytes, free = full + kBarrierBytes;
    barrier_wait(free, at.parity ^ 1);
#pragma unroll
    for (int i = 0; i < Tile::kOwned; ++i) {
      blocks[i].store(reinterpret_cast<uint4*>(slices + at.index * slice_bytes), shape.pitch,
                      (round * kRound + i * Tile::kLoaders + warp) * 32, step);
    }
    if (++round == rounds) {
      round = 0;
      if (++step == Tile::kSteps) {
        step = 0;
        fence_async_proxy();
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(full);
        at.advance(shape.input_depth);
        if (++slice == shape.slices) {
          slice = 0;
          tile += static_cast<int>(gridDim.x);
          if (tile >= shape.tiles) break;
        }
      }
    }
    load();
  }
}

}  // namespace lenslet
