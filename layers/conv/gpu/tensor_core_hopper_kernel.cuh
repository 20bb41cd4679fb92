// Convolution with Hopper's warpgroup products: one input tile in shared memory serves all taps of the filter.
//
// Number the pixels of the padded images of the whole batch in one row, v = (n*Hp + p)*Wp + q. The output at v needs,
// for tap (r, s), the input at v + r*dilation_h*Wp + s*dilation_w: for a run of 256 outputs that is again a run of 256,
// moved by a constant. wgmma without swizzle lets an operand start at any multiple of 16 bytes, and one pixel of a tile
// [channels / 4][pixels][4 channels] (8 channels in fp16) is 16 bytes. So operand A of every tap is the same tile in
// shared memory, read from another start: the im2col matrix does not exist even there. The price is that the
// positions between the rows of the output (Wp - Q of Wp) are computed and dropped.
#pragma once

#include "framework/keep_nan.h"
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
  int length;               // pixels of an input tile: outputs + (R-1)*tap_row + (S-1)*tap_column
  int pitch;                // of a tile in shared memory, pixels
  int chunks;               // of kChannels channels
  int tiles, stages;        // tiles of the whole problem; depth of the filters' ring
  int ring_offset, staging_offset, barrier_offset;  // in shared memory, bytes
  FastDivide by_padded_row, by_padded_image, by_filter_tiles;
  bool relu;
};

/// kSteps wgmma deep a stage of filters and an input tile; kTilesM tiles of 64 pixels a warpgroup; kFilters a block.
template <MathMode kMode, bool kChannelsLast, int kDepth, int kM, int kN>
struct HopperTile {
  static constexpr MathMode kMath = kMode;
  static constexpr bool kNhwc = kChannelsLast;
  static constexpr int kSteps = kDepth, kTilesM = kM, kFilters = kN;
  static constexpr int kLanes = kMode == MathMode::kTf32 ? 4 : 8;  // channels in 16 bytes
  static constexpr int kPieces = 2 * kSteps;                       // of 16 bytes: a wgmma takes two
  static constexpr int kChannels = kPieces * kLanes;
  static constexpr int kConsumers = 2;  // warpgroups
  static constexpr int kPixelsOfGroup = 64 * kTilesM, kPixels = kConsumers * kPixelsOfGroup;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kLoaders = 96;  // threads; the fourth warp of the producers sends for filters
  static constexpr int kStageBytes = kPieces * kFilters * 16;
  static constexpr int kStagedFilters = 16;
  // A pitch of 4 modulo 32: what a warp stages at once, 8 pixels of each 2nd filter, lies in 32 different banks.
  static constexpr int kStagingPitch = kPixelsOfGroup + 4;
  static constexpr int kStagingBytes = kNhwc ? 0 : kStagedFilters * kStagingPitch * 4;  // of a warpgroup
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

/// One chunk of channels of the input tile that begins at padded pixel `first`: global memory to `target`
/// [kPieces][pitch] pieces, rounded to the operands' type, by `count` threads.
template <class Tile>
__device__ __forceinline__ void hopper_load_inputs(const HopperShape& shape, const float* __restrict__ x,
                                                   int first, int chunk, uint4* target, int thread,
                                                   int count) {
  const int channel = chunk * Tile::kChannels;
  if constexpr (Tile::kNhwc) {  // neighbouring lanes: neighbouring pieces of a pixel
#pragma unroll 4
    for (int i = thread; i < shape.length * Tile::kPieces; i += count) {
      const int piece = i % Tile::kPieces, pixel = i / Tile::kPieces, c = channel + piece * Tile::kLanes;
      const int source = hopper_source<Tile>(shape, first + pixel);
      float values[Tile::kLanes];
#pragma unroll
      for (int e = 0; e < Tile::kLanes; e += 4) {
        const float4 four = source >= 0 && c + e < shape.c
                                ? __ldg(reinterpret_cast<const float4*>(x + source + c + e))
                                : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        values[e] = four.x;
        values[e + 1] = four.y;
        values[e + 2] = four.z;
        values[e + 3] = four.w;
      }
      target[piece * shape.pitch + pixel] = hopper_pack<Tile>(values);
    }
  } else {  // neighbouring lanes: neighbouring pixels
    constexpr int kBatch = Tile::kChannels < 32 ? Tile::kChannels : 32;  // loads in flight
    for (int pixel = thread; pixel < shape.length; pixel += count) {
      const int source = hopper_source<Tile>(shape, first + pixel);
#pragma unroll 1
      for (int batch = 0; batch < Tile::kChannels; batch += kBatch) {
        float values[kBatch];
#pragma unroll
        for (int c = 0; c < kBatch; ++c) {
          const int from = channel + batch + c;
          values[c] = source >= 0 && from < shape.c ? __ldg(x + source + from * shape.channel_pitch) : 0.0f;
        }
#pragma unroll
        for (int c = 0; c < kBatch; c += Tile::kLanes) {
          target[(batch + c) / Tile::kLanes * shape.pitch + pixel] = hopper_pack<Tile>(values + c);
        }
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

/// Stores one warpgroup's sums. wgmma leaves row 16*warp + lane/4 (+ 8) and columns 8*j + lane%4*2 (+ 1) in a thread
/// (PTX ISA, "Matrix fragments for wgmma"): in NHWC those are neighbouring outputs; in NCHW they are turned in shared
/// memory, 16 filters at a time, so that a warp writes 32 neighbouring pixels of a filter.
template <class Tile>
__device__ __forceinline__ void hopper_store(const HopperShape& shape,
                                             const float (&sums)[Tile::kTilesM][Tile::kFilters / 2],
                                             const float* __restrict__ bias, float* __restrict__ y,
                                             float* staging, int first_pixel, int first_filter, int barrier) {
  const int thread = static_cast<int>(threadIdx.x % 128), warp = thread / 32, lane = thread % 32;
  if constexpr (Tile::kNhwc) {
#pragma unroll
    for (int m = 0; m < Tile::kTilesM; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int target = hopper_target<Tile>(shape, first_pixel + m * 64 + warp * 16 + half * 8 + lane / 4);
        if (target < 0) continue;
#pragma unroll
        for (int j = 0; j < Tile::kFilters / 8; ++j) {
          const int filter = first_filter + j * 8 + lane % 4 * 2;
          const float2 offset = __ldg(reinterpret_cast<const float2*>(bias + filter));
          const float one = relu_if(shape.relu, sums[m][j * 4 + half * 2] + offset.x);
          const float two = relu_if(shape.relu, sums[m][j * 4 + half * 2 + 1] + offset.y);
          if (shape.k % 2 == 0) {
            if (filter < shape.k) *reinterpret_cast<float2*>(y + target + filter) = make_float2(one, two);
          } else {
            if (filter < shape.k) y[target + filter] = one;
            if (filter + 1 < shape.k) y[target + filter + 1] = two;
          }
        }
      }
    }
  } else {
    int targets[Tile::kPixelsOfGroup / 32];
#pragma unroll
    for (int i = 0; i < Tile::kPixelsOfGroup / 32; ++i) {
      targets[i] = hopper_target<Tile>(shape, first_pixel + i * 32 + lane);
    }
#pragma unroll
    for (int pass = 0; pass < Tile::kFilters / Tile::kStagedFilters; ++pass) {
      hopper::warpgroup_barrier(barrier);  // the pass before has been read
#pragma unroll
      for (int m = 0; m < Tile::kTilesM; ++m) {
#pragma unroll
        for (int j = 0; j < Tile::kStagedFilters / 8; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            staging[(j * 8 + lane % 4 * 2 + e % 2) * Tile::kStagingPitch + m * 64 + warp * 16 + e / 2 * 8 +
                    lane / 4] = sums[m][(pass * (Tile::kStagedFilters / 8) + j) * 4 + e];
          }
        }
      }
      hopper::warpgroup_barrier(barrier);
#pragma unroll
      for (int f = 0; f < Tile::kStagedFilters / 4; ++f) {
        const int row = warp * (Tile::kStagedFilters / 4) + f,
                  filter = first_filter + pass * Tile::kStagedFilters + row;
        if (filter >= shape.k) break;
        const float offset = __ldg(bias + filter);
        float* plane = y + filter * shape.plane;
#pragma unroll
        for (int i = 0; i < Tile::kPixelsOfGroup / 32; ++i) {
          const float value =
              relu_if(shape.relu, staging[row * Tile::kStagingPitch + i * 32 + lane] + offset);
          if (targets[i] >= 0) plane[targets[i]] = value;
        }
      }
    }
  }
}

// computes    y [N, K, P, Q] = bias + sum over chunks of channels and taps: inputs [pixels, channels] x filters
//             [channels, K]; operands tf32 or fp16, sums in fp32, optional ReLU
// work split  persistent blocks; a tile = kPixels padded pixels x kFilters filters; two warpgroups multiply 64*kTilesM
//             pixels each, three warps load inputs, one thread sends for filters
// memory      shared: two input tiles [kPieces][pitch] x 16 bytes (pitch odd: NHWC stores meet no bank twice), a ring of
//             filter stages [kPieces][kFilters] x 16 bytes, staging for NCHW stores; 64*kTilesM/128*kFilters sums a thread
// requires    sm_90a; stride 1, one group; NHWC: C a multiple of 4 (checked by tensor_core_hopper.cu)
// measured    see docs/kernels/tensor_core.md
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1) conv_tensor_core_wgmma_kernel(
    const HopperShape shape, const float* __restrict__ x,
    const unsigned char* __restrict__ filters,  // [filter tiles, chunks, taps] stages
    const float* __restrict__ bias,             // [filter tiles * kFilters]
    float* __restrict__ y) {
  using namespace hopper;
  extern __shared__ __align__(128) unsigned char shared[];
  const int tile_bytes = Tile::kPieces * shape.pitch * 16;
  const uint32_t inputs = shared_address(shared), ring = inputs + shape.ring_offset;
  const uint32_t barriers = inputs + shape.barrier_offset;
  const auto inputs_full = [&](int i) { return barriers + i * 8; };
  const auto inputs_free = [&](int i) { return barriers + 16 + i * 8; };
  const auto stage_full = [&](int i) { return barriers + 32 + i * 16; };
  const auto stage_free = [&](int i) { return barriers + 40 + i * 16; };
  constexpr int kConsumerWarps = 4 * Tile::kConsumers;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      barrier_init(inputs_full(i), Tile::kLoaders);
      barrier_init(inputs_free(i), kConsumerWarps);
    }
    for (int i = 0; i < shape.stages; ++i) {
      barrier_init(stage_full(i), 1);
      barrier_init(stage_free(i), kConsumerWarps);
    }
    fence_stores_for_wgmma();  // the copy engine's completions reach the barriers by the same way
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / 128;

  if (group == 0) {
    if (threadIdx.x < Tile::kLoaders) {
      RingPlace place;
      for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
        int filter_tile;
        const int first = shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels;
        for (int chunk = 0; chunk < shape.chunks; ++chunk) {
          barrier_wait(inputs_free(place.index), place.parity ^ 1);
          hopper_load_inputs<Tile>(shape, x, first, chunk,
                                   reinterpret_cast<uint4*>(shared + place.index * tile_bytes),
                                   static_cast<int>(threadIdx.x), Tile::kLoaders);
          fence_stores_for_wgmma();
          barrier_arrive(inputs_full(place.index));
          place.advance(2);
        }
      }
    } else if (threadIdx.x == Tile::kLoaders) {
      RingPlace place;
      const int stages_of_tile = shape.chunks * shape.taps;
      for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
        int filter_tile;
        shape.by_filter_tiles.divide(tile, filter_tile);
        const unsigned char* source =
            filters + static_cast<int64_t>(filter_tile) * stages_of_tile * Tile::kStageBytes;
        for (int i = 0; i < stages_of_tile; ++i) {
          barrier_wait(stage_free(place.index), place.parity ^ 1);
          barrier_arrive_expect(stage_full(place.index), Tile::kStageBytes);
          bulk_copy(ring + place.index * Tile::kStageBytes, source, Tile::kStageBytes,
                    stage_full(place.index));
          source += Tile::kStageBytes;
          place.advance(shape.stages);
        }
      }
    }
    return;
  }

  const int consumer = group - 1;
  float* staging = reinterpret_cast<float*>(shared + shape.staging_offset + consumer * Tile::kStagingBytes);
  const bool signals = threadIdx.x % 32 == 0;
  RingPlace stage, input;
  for (int tile = static_cast<int>(blockIdx.x); tile < shape.tiles; tile += static_cast<int>(gridDim.x)) {
    int filter_tile;
    const int first =
        shape.by_filter_tiles.divide(tile, filter_tile) * Tile::kPixels + consumer * Tile::kPixelsOfGroup;
    float sums[Tile::kTilesM][Tile::kFilters / 2];
    uint32_t stage_read = 0, inputs_read = 0;  // barriers of what the products in flight still read; 0: none
    bool add = false;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      barrier_wait(inputs_full(input.index), input.parity);
      uint32_t tap_inputs = inputs + input.index * tile_bytes + consumer * Tile::kPixelsOfGroup * 16;
      for (int tap = 0, s = 0; tap < shape.taps; ++tap) {
        barrier_wait(stage_full(stage.index), stage.parity);
        const uint64_t a = operand_descriptor(tap_inputs, shape.pitch * 16);
        const uint64_t b = operand_descriptor(ring + stage.index * Tile::kStageBytes, Tile::kFilters * 16);
#pragma unroll
        for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < Tile::kSteps; ++step) {
#pragma unroll
          for (int m = 0; m < Tile::kTilesM; ++m) {
            // Descriptors count in 16 bytes.
            wgmma<Tile::kMath>(sums[m], a + step * 2 * shape.pitch + m * 64, b + step * 2 * Tile::kFilters,
                               step > 0 || add);
          }
        }
        wgmma_commit();
#pragma unroll
        for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
        wgmma_wait<1>();  // the products before these are done with their stage
        if (signals) {
          if (stage_read) barrier_arrive(stage_read);
          if (inputs_read) barrier_arrive(inputs_read);
        }
        inputs_read = 0;
        stage_read = stage_free(stage.index);
        stage.advance(shape.stages);
        add = true;
        tap_inputs += shape.tap_column * 16;
        if (++s == shape.s) {
          s = 0;
          tap_inputs += (shape.tap_row - shape.s * shape.tap_column) * 16;
        }
      }
      inputs_read = inputs_free(input.index);
      input.advance(2);
    }
    wgmma_wait<0>();
#pragma unroll
    for (int m = 0; m < Tile::kTilesM; ++m) wgmma_hold(sums[m]);
    if (signals) {
      barrier_arrive(stage_read);
      barrier_arrive(inputs_read);
    }
    hopper_store<Tile>(shape, sums, bias, y, staging, first, filter_tile * Tile::kFilters, 1 + consumer);
  }
}

}  // namespace lenslet
