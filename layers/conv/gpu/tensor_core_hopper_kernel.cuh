// Convolution with Hopper's warpgroup products: one input tile in shared memory serves all taps of the filter.
//
// Number the pixels of the padded images of the whole batch in one row, v = (n*Hp + p)*Wp + q. The output at v needs,
// for tap (r, s), the input at v + r*dilation_h*Wp + s*dilation_w: for a run of 256 outputs that is again a run of 256,
// moved by a constant. wgmma without swizzle lets an operand start at any multiple of 16 bytes, and one pixel of a tile
// [channels / 4][pixels][4 channels] (8 channels in fp16) is 16 bytes. So operand A of every tap is the same tile in
// shared memory, read from another start: the im2col matrix does not exist even there. The price is that the
// positions between the rows of the output (Wp - Q of Wp) are computed and dropped.
#pragma once

#include "layers/conv/gpu/epilogue.cuh"
#include "layers/conv/gpu/fast_divide.cuh"
#include "layers/conv/gpu/tensor_core_wgmma.cuh"

namespace lenslet {

struct HopperShape {
  int c, h, w, channel_pitch, image;  // input; H*W (NCHW) or 1; C*H*W
  int pad_h, pad_w;
  int k, p, q, plane;       // output; P*Q
  int padded_pixels;        // N*Hp*Wp
  int taps, s;              // R*S, S
  int tap_row, tap_column;  // dilation_h*Wp, dilation_w
  int pitch;                // of a slice in shared memory, pixels
  int blocks;               // of 32 pixels in a slice: outputs + (R-1)*tap_row + (S-1)*tap_column, rounded up
  int slices;               // of kChannels channels
  int tiles;                // of the whole problem
  int input_depth, filter_depth;                    // of the two rings: slices, stages
  int ring_offset, staging_offset, barrier_offset;  // in shared memory, bytes
  FastDivide by_padded_row, by_padded_image, by_filter_tiles;
  bool relu;
};

/// kTilesM tiles of 64 pixels a warpgroup, kFilters filters a block; a slice of inputs is one wgmma deep; the filters of
/// kStageTaps taps, a divisor of R*S, travel together.
template <MathMode kMode, bool kChannelsLast, int kM, int kN, int kTaps>
struct HopperTile {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = kChannelsLast;
  static constexpr int kTilesM = kM, kFilters = kN, kStageTaps = kTaps;
  static constexpr int kLanes = kMode == MathMode::kTf32 ? 4 : 8;  // channels in a piece of 16 bytes
  static constexpr int kPieces = 2, kChannels = kPieces * kLanes;  // of a slice
  static constexpr int kConsumers = 2;                             // warpgroups
  static constexpr int kPixelsOfGroup = 64 * kTilesM, kPixels = kConsumers * kPixelsOfGroup;
  static constexpr int kThreads = 128 * (2 + kConsumers);
  // Warps of the producers: one sends for filters, the last kConsumers store, a warpgroup's sums each.
  static constexpr int kLoaders = 5;
  // Blocks of 32 pixels that a loader has on the way, in registers.
  static constexpr int kAhead = kMode == MathMode::kTf32 ? 4 : 3;
  static constexpr int kProducerRegisters = 88, kConsumerRegisters = 168;  // 65536 over the block's threads
  static constexpr int kTapBytes = kPieces * kFilters * 16;                // filters of a slice and tap
  static constexpr int kStageBytes = kStageTaps * kTapBytes;
  static constexpr int kStagingFloats = kFilters * kPixelsOfGroup;  // of a warpgroup
};

/// Position in a ring of buffers, and the parity of its current round.
struct RingPlace {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance(int depth) {
    if (++index == depth) {
      index = 0;
      parity ^= 1;
    }
  }
};

/// Loads kLanes x 4 bytes of channels as one 16-byte piece in the operands' type.
template <class Tile>
__device__ __forceinline__ uint4 hopper_pack(const float* values) {
  if constexpr (Tile::kMath == MathMode::kTf32) {
    uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits[i]) : "f"(values[i]));
    return make_uint4(bits[0], bits[1], bits[2], bits[3]);
  } else {
    uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __half2 pair = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
      bits[i] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    return make_uint4(bits[0], bits[1], bits[2], bits[3]);
  }
}

/// Element of x at padded pixel v and channel 0, or -1 in the padding and past the end.
template <class Tile>
__device__ __forceinline__ int hopper_source(const HopperShape& shape, int v) {
  int rest, column;
  const int n = shape.by_padded_image.divide(v, rest);
  const int h = shape.by_padded_row.divide(rest, column) - shape.pad_h, w = column - shape.pad_w;
  const bool inside = v < shape.padded_pixels && static_cast<unsigned>(h) < static_cast<unsigned>(shape.h) &&
                      static_cast<unsigned>(w) < static_cast<unsigned>(shape.w);
  return inside ? n * shape.image + (h * shape.w + w) * (Tile::kNhwc ? shape.c : 1) : -1;
}

/// A block of 32 pixels x kChannels channels on its way from global to shared memory, in a warp's registers. NCHW: a
/// lane has one pixel, neighbouring lanes read neighbouring pixels. NHWC: two lanes have a pixel, a piece each.
template <class Tile>
class HopperBlock {
 public:
  /// Begins to load channels from `channel` on at padded pixel `first`, the block's first.
  __device__ __forceinline__ void load(const HopperShape& shape, const float* __restrict__ x, int first,
                                       int channel) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    if constexpr (Tile::kNhwc) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int source = hopper_source<Tile>(shape, first + half * 16 + lane / 2);
#pragma unroll
        for (int e = 0; e < Tile::kLanes; e += 4) {
          const int c = channel + lane % 2 * Tile::kLanes + e;
          const float4 four = source >= 0 && c < shape.c
                                  ? __ldg(reinterpret_cast<const float4*>(x + source + c))
                                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          values_[half * Tile::kLanes + e] = four.x;
          values_[half * Tile::kLanes + e + 1] = four.y;
          values_[half * Tile::kLanes + e + 2] = four.z;
          values_[half * Tile::kLanes + e + 3] = four.w;
        }
      }
    } else {
      const int source = hopper_source<Tile>(shape, first + lane);
      const float* from = x + source + channel * shape.channel_pitch;
#pragma unroll
      for (int c = 0; c < Tile::kChannels; ++c) {
        values_[c] = source >= 0 && channel + c < shape.c ? __ldg(from + c * shape.channel_pitch) : 0.0f;
      }
    }
  }
  /// Rounds and stores as pixels `first`... of `slice` [kPieces][pitch], those past the pitch left out; it is 4 modulo
  /// 8, so that the two pieces of four pixels fill all banks.
  __device__ __forceinline__ void store(uint4* slice, int pitch, int first) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = first + (Tile::kNhwc ? half * 16 + lane / 2 : lane),
                piece = Tile::kNhwc ? lane % 2 : half;
      if (pixel < pitch) slice[piece * pitch + pixel] = hopper_pack<Tile>(values_ + half * Tile::kLanes);
    }
  }

 private:
  float values_[Tile::kChannels];
};

/// Walks the blocks of 32 pixels of all slices of all tiles of this thread block; a warp has every kLoaders-th.
template <class Tile>
struct HopperCursor {
  int tile, slice = 0, block, first = 0;
  RingPlace place;

  __device__ HopperCursor(const HopperShape& shape, int warp)
      : tile(static_cast<int>(blockIdx.x)), block(warp) {
    settle(shape);
    locate(shape);
  }
  __device__ __forceinline__ void advance(const HopperShape& shape) {
    block += Tile::kLoaders;
    settle(shape);
  }
  __device__ __forceinline__ bool valid(const HopperShape& shape) const { return tile < shape.tiles; }

 private:
  __device__ __forceinline__ void locate(const HopperShape& shape) {
    int filter_tile;
    first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels;
  }
  __device__ __forceinline__ void settle(const HopperShape& shape) {
    while (block >= shape.blocks) {
      block -= shape.blocks;
      place.advance(shape.input_depth);
      if (++slice == shape.slices) {
        slice = 0;
        tile += static_cast<int>(gridDim.x);
        locate(shape);
      }
    }
  }
};

/// One loader warp: several blocks on the way at any time, each stored once its slice's place in the ring is free.
template <class Tile>
__device__ __forceinline__ void hopper_load_inputs(const HopperShape& shape, const float* __restrict__ x,
                                                   unsigned char* slices, uint32_t barriers, int warp) {
  const int slice_bytes = Tile::kPieces * shape.pitch * 16;
  HopperCursor<Tile> ahead(shape, warp), cursor(shape, warp);
  HopperBlock<Tile> blocks[Tile::kAhead];
#pragma unroll
  for (int i = 0; i < Tile::kAhead; ++i) {
    if (!ahead.valid(shape)) break;
    blocks[i].load(shape, x, ahead.first + ahead.block * 32, ahead.slice * Tile::kChannels);
    ahead.advance(shape);
  }
  while (cursor.valid(shape)) {
#pragma unroll
    for (int i = 0; i < Tile::kAhead; ++i) {
      if (!cursor.valid(shape)) break;
      const uint32_t full = barriers + cursor.place.index * 16, free = full + 8;
      hopper::barrier_wait(free, cursor.place.parity ^ 1);
      blocks[i].store(reinterpret_cast<uint4*>(slices + cursor.place.index * slice_bytes), shape.pitch,
                      cursor.block * 32);
      hopper::fence_stores_for_wgmma();
      __syncwarp();
      if (threadIdx.x % 32 == 0) hopper::barrier_arrive(full);
      cursor.advance(shape);
      if (ahead.valid(shape)) {
        blocks[i].load(shape, x, ahead.first + ahead.block * 32, ahead.slice * Tile::kChannels);
        ahead.advance(shape);
      }
    }
  }
}

/// Offset in y of padded pixel v for filter 0, or -1 where v is no output.
template <class Tile>
__device__ __forceinline__ int hopper_target(const HopperShape& shape, int v) {
  int rest, q;
  const int n = shape.by_padded_image.divide(v, rest);
  const int p = shape.by_padded_row.divide(rest, q);
  if (v >= shape.padded_pixels || p >= shape.p || q >= shape.q) return -1;
  const int pixel = p * shape.q + q;
  return n * shape.k * shape.plane + pixel * (Tile::kNhwc ? shape.k : 1);
}

/// Where a warpgroup's sums wait in shared memory: [filters][pixels], in NHWC [pixels][filters]. The exclusive or moves
/// every other access by 8 floats, so that what a warp of wgmma's layout holds goes to 32 different banks.
template <class Tile>
__device__ __forceinline__ int hopper_staged(int pixel, int filter) {
  return Tile::kNhwc ? pixel * Tile::kFilters + (filter ^ (pixel % 4 * 8))
                     : filter * Tile::kPixelsOfGroup + (pixel ^ (filter / 2 % 4 * 8));
}

/// wgmma leaves rows 16*warp + lane/4 (+ 8) and columns 8*j + lane%4*2 (+ 1) in a thread (PTX ISA, "Matrix fragments for
/// wgmma").
template <class Tile>
__device__ __forceinline__ void hopper_stage(const float (&sums)[Tile::kTilesM][Tile::kFilters / 2],
                                             float* staging) {
  const int warp = static_cast<int>(threadIdx.x / 32 % 4), lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int m = 0; m < Tile::kTilesM; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = m * 64 + warp * 16 + half * 8 + lane / 4;
#pragma unroll
      for (int j = 0; j < Tile::kFilters / 8; ++j) {
        const int filter = j * 8 + lane % 4 * 2;
        const float one = sums[m][j * 4 + half * 2], two = sums[m][j * 4 + half * 2 + 1];
        if constexpr (Tile::kNhwc) {
          *reinterpret_cast<float2*>(staging + hopper_staged<Tile>(pixel, filter)) = make_float2(one, two);
        } else {
          float* place = staging + hopper_staged<Tile>(pixel, filter);
          place[0] = one;
          place[Tile::kPixelsOfGroup] = two;
        }
      }
    }
  }
}

/// Adds the bias to staged sums and stores them: warp `warp` of `warps`. A warp writes 32 neighbouring pixels of a
/// filter, in NHWC neighbouring filters of a pixel. It reads kAtOnce values before it writes the first: a warp that
/// waited for each would be too slow.
template <class Tile>
__device__ __forceinline__ void hopper_store(const HopperShape& shape, const float* staging,
                                             const float* __restrict__ bias, float* __restrict__ y,
                                             int first_pixel, int first_filter, int warp, int warps) {
  constexpr int kRuns = Tile::kPixelsOfGroup / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int targets[kRuns];
#pragma unroll
  for (int i = 0; i < kRuns; ++i) targets[i] = hopper_target<Tile>(shape, first_pixel + i * 32 + lane);
  constexpr int kLanesOfPixel = Tile::kFilters / 4;
  const int four = lane % kLanesOfPixel * 4;  // of the filters, this lane has the bias
  const float4 offset = __ldg(reinterpret_cast<const float4*>(bias + first_filter + four));
  if constexpr (Tile::kNhwc) {
    constexpr int kAtOnce = 4, kPixelsAtOnce = 32 / kLanesOfPixel;
    const int left = shape.k - first_filter - four;
    const bool vector = shape.k % 4 == 0 && left > 0;
    y += first_filter + four;
#pragma unroll
    for (int i = 0; i < kRuns; ++i) {
#pragma unroll 1
      for (int j = warp * kPixelsAtOnce; j < 32; j += warps * kPixelsAtOnce * kAtOnce) {
        float4 sums[kAtOnce];
#pragma unroll
        for (int e = 0; e < kAtOnce; ++e) {
          const int pixel = (j + e * warps * kPixelsAtOnce + lane / kLanesOfPixel) % 32;
          sums[e] = *reinterpret_cast<const float4*>(staging + hopper_staged<Tile>(i * 32 + pixel, four));
        }
#pragma unroll
        for (int e = 0; e < kAtOnce; ++e) {
          const int pixel = j + e * warps * kPixelsAtOnce + lane / kLanesOfPixel;
          const int target = __shfl_sync(0xffffffffu, targets[i], pixel % 32);
          const float out[4] = {
              relu_if(shape.relu, sums[e].x + offset.x), relu_if(shape.relu, sums[e].y + offset.y),
              relu_if(shape.relu, sums[e].z + offset.z), relu_if(shape.relu, sums[e].w + offset.w)};
          if (target >= 0 && pixel < 32) store_four(y + target, out, vector, left);
        }
      }
    }
  } else {
    constexpr int kAtOnce = 4;  // filters
    float* places[kRuns];
#pragma unroll
    for (int i = 0; i < kRuns; ++i) {
      places[i] = y + targets[i] + static_cast<int64_t>(first_filter + warp * kAtOnce) * shape.plane;
    }
    const int64_t skipped = static_cast<int64_t>((warps - 1) * kAtOnce) * shape.plane;
#pragma unroll 1
    for (int f = warp * kAtOnce; f < Tile::kFilters; f += warps * kAtOnce) {
      float sums[kAtOnce][kRuns];
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
#pragma unroll
        for (int i = 0; i < kRuns; ++i) sums[e][i] = staging[hopper_staged<Tile>(i * 32 + lane, f + e)];
      }
      const float offsets[kAtOnce] = {
          __shfl_sync(0xffffffffu, offset.x, f / 4), __shfl_sync(0xffffffffu, offset.y, f / 4),
          __shfl_sync(0xffffffffu, offset.z, f / 4), __shfl_sync(0xffffffffu, offset.w, f / 4)};
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) {
        const bool exists = first_filter + f + e < shape.k;
#pragma unroll
        for (int i = 0; i < kRuns; ++i) {
          const float value = relu_if(shape.relu, sums[e][i] + offsets[e]);
          if (exists && targets[i] >= 0) *places[i] = value;
          places[i] += shape.plane;
        }
      }
#pragma unroll
      for (int i = 0; i < kRuns; ++i) places[i] += skipped;
    }
  }
}

// computes    y [N, K, P, Q] = bias + sum over slices of channels and taps: inputs [pixels, channels] x filters
//             [channels, K]; operands tf32 or fp16, sums in fp32, optional ReLU
// work split  persistent blocks; a tile = kPixels padded pixels x kFilters filters; two warpgroups multiply 64*kTilesM
//             pixels each, five warps load inputs, one thread sends for filters, two warps store the tile before
// memory      shared: a ring of input slices [kPieces][pitch] x 16 bytes, a ring of filter stages [kStageTaps][kPieces]
//             [kFilters] x 16 bytes, the sums of the tile before; 64*kTilesM/128*kFilters sums a thread
// requires    sm_90a; stride 1, one group; NHWC: C a multiple of 4 (checked by tensor_core_hopper.cu)
// measured    see docs/kernels/tensor_core.md
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1) conv_tensor_core_wgmma_kernel(
    const HopperShape shape, const float* __restrict__ x,
    const unsigned char* __restrict__ filters,  // [filter tiles, slices, taps] packed
    const float* __restrict__ bias,             // [filter tiles * kFilters]
    float* __restrict__ y) {
  using namespace hopper;
  extern __shared__ __align__(128) unsigned char shared[];
  const int slice_bytes = Tile::kPieces * shape.pitch * 16;
  const int stages_of_slice = shape.taps / Tile::kStageTaps;
  const uint32_t inputs = shared_address(shared), ring = inputs + shape.ring_offset;
  // Of each place of a ring: full, then free.
  const uint32_t input_barriers = inputs + shape.barrier_offset;
  const uint32_t filter_barriers = input_barriers + shape.input_depth * 16;
  const uint32_t staging_barriers = filter_barriers + shape.filter_depth * 16;
  if (threadIdx.x == 0) {
    constexpr int kConsumerWarps = 4 * Tile::kConsumers;
#pragma unroll 1
    for (int i = 0; i < shape.input_depth; ++i) {
      barrier_init(input_barriers + i * 16, shape.blocks);
      barrier_init(input_barriers + i * 16 + 8, kConsumerWarps);
    }
#pragma unroll 1
    for (int i = 0; i < shape.filter_depth; ++i) {
      barrier_init(filter_barriers + i * 16, 1);
      barrier_init(filter_barriers + i * 16 + 8, kConsumerWarps);
    }
    for (int i = 0; i < Tile::kConsumers; ++i) {
      barrier_init(staging_barriers + i * 16, 4);
      barrier_init(staging_barriers + i * 16 + 8, 1);
    }
    fence_barrier_init();
  }
  __syncthreads();
  float* staging = reinterpret_cast<float*>(shared + shape.staging_offset);
  const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);  // the same for a warp

  if (group >= Tile::kConsumers) {
    keep_registers<Tile::kProducerRegisters>();
    const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * Tile::kConsumers;
    if (warp < Tile::kLoaders) {
      hopper_load_inputs<Tile>(shape, x, shared, input_barriers, warp);
    } else if (warp > Tile::kLoaders) {  // the last tile is stored by those who computed it
      const int owner = warp - Tile::kLoaders - 1;
      const uint32_t full = staging_barriers + owner * 16, free = full + 8;
      uint32_t parity = 0;
      for (int tile = static_cast<int>(blockIdx.x); tile + static_cast<int>(gridDim.x) < shape.tiles;
           tile += static_cast<int>(gridDim.x)) {
        int filter_tile;
        const int first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels;
        barrier_wait(full, parity);
        hopper_store<Tile>(shape, staging + owner * Tile::kStagingFloats, bias, y,
                           first + owner * Tile::kPixelsOfGroup, filter_tile * Tile::kFilters, 0, 1);
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(free);
        parity ^= 1;
      }
    } else if (threadIdx.x % 32 == 0) {
      RingPlace place;
      for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
        int filter_tile;
        shape.by_filter_tiles.divide(tile, filter_tile);
        const unsigned char* source =
            filters + static_cast<int64_t>(filter_tile) * shape.slices * shape.taps * Tile::kTapBytes;
        for (int i = 0; i < shape.slices * stages_of_slice; ++i) {
          const uint32_t full = filter_barriers + place.index * 16, free = full + 8;
          barrier_wait(free, place.parity ^ 1);
          barrier_arrive_expect(full, Tile::kStageBytes);
          bulk_copy(ring + place.index * Tile::kStageBytes, source, Tile::kStageBytes, full);
          source += Tile::kStageBytes;
          place.advance(shape.filter_depth);
        }
      }
    }
  } else {
    take_registers<Tile::kConsumerRegisters>();
    staging += group * Tile::kStagingFloats;
    const uint32_t staged = staging_barriers + group * 16, staging_free = staged + 8;
    uint32_t staging_parity = 0;
    const bool signals = threadIdx.x % 32 == 0;
    RingPlace stage, input;
    int first = 0, filter_tile = 0;
    for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
      first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels + group * Tile::kPixelsOfGroup;
      float sums[Tile::kTilesM][Tile::kFilters / 2];
      uint32_t stage_read = 0,
               input_read = 0;  // barriers to tell once the products in flight are done; 0: none
      bool add = false;
      for (int slice = 0; slice < shape.slices; ++slice) {
        barrier_wait(input_barriers + input.index * 16, input.parity);
        // Descriptors count in 16 bytes, which is one pixel of a piece.
        uint64_t a = operand_descriptor(
            inputs + input.index * slice_bytes + group * Tile::kPixelsOfGroup * 16, shape.pitch * 16);
        int s = 0;
        for (int part = 0; part < stages_of_slice; ++part) {
          barrier_wait(filter_barriers + stage.index * 16, stage.parity);
          const uint64_t b = operand_descriptor(ring + stage.index * Tile::kStageBytes, Tile::kFilters * 16);
#pragma unroll
          for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
          wgmma_fence();
          // Unrolled: a loop would have the compiler end a group of products with each round.
#pragma unroll
          for (int tap = 0; tap < Tile::kStageTaps; ++tap) {
#pragma unroll
            for (int m = 0; m < Tile::kTilesM; ++m) {
              wgmma<Tile::kMath>(sums[m], a + m * 64, b + tap * (Tile::kTapBytes / 16), tap > 0 || add);
            }
            const bool last = ++s == shape.s;
            a += last ? shape.tap_row - (shape.s - 1) * shape.tap_column : shape.tap_column;
            s = last ? 0 : s;
          }
          add = true;
          wgmma_commit();
#pragma unroll
          for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
          wgmma_wait<1>();  // the products before these are done with their stage
          if (signals && stage_read) barrier_arrive(stage_read);
          if (signals && input_read) barrier_arrive(input_read);
          input_read = 0;
          stage_read = filter_barriers + stage.index * 16 + 8;
          stage.advance(shape.filter_depth);
        }
        input_read = input_barriers + input.index * 16 + 8;
        input.advance(shape.input_depth);
      }
      wgmma_wait<0>();
#pragma unroll
      for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
      if (signals) {
        barrier_arrive(stage_read);
        barrier_arrive(input_read);
      }
      barrier_wait(staging_free, staging_parity ^ 1);  // the tile before has been stored
      staging_parity ^= 1;
      hopper_stage<Tile>(sums, staging);
      if (tile + static_cast<int>(gridDim.x) < shape.tiles) {
        __syncwarp();
        if (signals) barrier_arrive(staged);
      }
    }
    // The last tile, outside of the loop: there the registers of the sums are free.
    warpgroup_barrier(1 + group);
    hopper_store<Tile>(shape, staging, bias, y, first, filter_tile * Tile::kFilters,
                       static_cast<int>(threadIdx.x) / 32 % 4, 4);
  }
}

}  // namespace lenslet
