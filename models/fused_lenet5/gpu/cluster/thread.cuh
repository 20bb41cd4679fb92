// The state of a thread of the small kernels: its positions and its parameters. Internal: includes CUDA.
#pragma once

#include "models/fused_lenet5/gpu/cluster/tile.h"
#include "models/fused_lenet5/gpu/common.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"

namespace lenslet::cluster_lenet5 {

using fused_lenet5::hide_value;
using fused_lenet5::kept_value;
using fused_lenet5::lane_of;
using fused_lenet5::sum_over_lanes;
using fused_lenet5::warp_of;

/// Weights bypass L1, because every block reads its own once.
__device__ __forceinline__ float4 load_group(const float* at) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(at));
  return v;
}

struct Filter {  // 5 x 5
  float4 groups[kTapGroups];
  float last;
  __device__ __forceinline__ float tap(int t) const {
    if (t == kTaps - 1) return last;
    const float4& g = groups[t / 4];
    return t % 4 == 0 ? g.x : t % 4 == 1 ? g.y : t % 4 == 2 ? g.z : g.w;
  }
};

/// The positions that a thread reads and writes, computed before it waits for an image.
template <class T>
struct Places {
  int corner1, out1;   // conv1, in `image` and `h1`
  int corner2, out2;   // conv2, in `h1` and `h2`
  int part;            // of `partial`, or -1
  int input1, input2;  // groups of four that fc1 and fc2 read
  int out_f2;          // in `f2`, or -1

  __device__ __forceinline__ explicit Places(int rank) {
    const int lane = lane_of(), warp = warp_of(), thread = static_cast<int>(threadIdx.x);
    const int at = thread % T::kMapThreads;
    corner1 = image_corner(at);
    out1 = thread / T::kMapThreads * T::kConv1Maps * T::kPlane1 + at;
    const int task = warp - T::kConv2FirstWarp, share = task % T::kConv2Shares;
    const int p = task / T::kConv2Shares, in = min(lane & 7, kMaps1 - 1);
    corner2 = in * T::kPlane1 + 2 * position_row(p) * T::kColumns1 + 2 * position_column(p);
    out2 = p * kMaps2 + map_of(share, lane);
    input1 = lane % T::kFc1Groups;
    const int index1 = kept_value<T::kFc1Groups / 2, T::kFc1Outputs>(lane);
    const int output = (warp * (32 / T::kFc1Groups) + lane / T::kFc1Groups) * T::kFc1Outputs + index1;
    part = index1 < T::kFc1Outputs && output < kF1 && (lane & 1) == 0 ? rank * kF1 + output : -1;
    input2 = lane & 15;
    const int index2 = kept_value<8, T::kFc2Outputs>(lane);
    const bool writes = warp < T::kFc2Warps && index2 < T::kFc2Outputs && (lane & 1) == 0;
    out_f2 = writes ? (2 * warp + (lane >> 4)) * T::kFc2Outputs + index2 : -1;
    // Without this the compiler computes them at their use, after the barriers.
    for (int* place : {&corner1, &out1, &corner2, &out2, &part, &input1, &input2, &out_f2}) {
      hide_value(*place);
    }
  }
  static __device__ __forceinline__ int image_corner(int at) {
    return 2 * (at / T::kColumns1) * T::kImagePitch + 2 * (at % T::kColumns1);
  }
  /// The map whose largest sum the lane has at the end of conv2.
  static __device__ __forceinline__ int map_of(int share, int lane) {
    return (share * 4 + (lane >> 3)) * T::kConv2Maps + (T::kConv2Maps == 2 ? (lane >> 2) & 1 : 0);
  }
};

/// Parameters in registers. conv1's and fc1's for the warps that compute them; unset elsewhere.
template <class T>
struct Weights {
  Filter conv1[T::kConv1Maps], conv2[T::kConv2Maps];
  float bias1[T::kConv1Maps], bias2;  // bias2 for one of the eight lanes that share a map
  float4 fc1[T::kFc1Outputs];

  __device__ __forceinline__ void load_conv(const float* packed, const Conv1Parameters& first) {
    load_conv1(first);
    load_conv2(packed);
  }
  __device__ __forceinline__ void load_conv1(const Conv1Parameters& first) {
    const int warp = warp_of(), thread = static_cast<int>(threadIdx.x);
    if (warp < T::kConv1Warps) {
      int map = min(thread / T::kMapThreads, kMaps1 / T::kConv1Maps - 1) * T::kConv1Maps;
      hide_value(map);  // otherwise the compiler keeps them in registers between images
#pragma unroll
      for (int k = 0; k < T::kConv1Maps; ++k) {
        const float* const at = first.weight + (map + k) * kFilterStride;
#pragma unroll
        for (int g = 0; g < kTapGroups; ++g)
          conv1[k].groups[g] = *reinterpret_cast<const float4*>(at + 4 * g);
        conv1[k].last = at[kTaps - 1];
        bias1[k] = first.bias[map + k];
      }
    }
  }
  __device__ __forceinline__ void load_conv2(const float* packed) {
    const int lane = lane_of(), warp = warp_of();
    if (warp >= T::kConv2FirstWarp) {
      const int share = (warp - T::kConv2FirstWarp) % T::kConv2Shares;
      const float* const shared = packed + T::kConv2At + share * T::kConv2Maps * T::kConv2Stride;
#pragma unroll
      for (int k = 0; k < T::kConv2Maps; ++k) {
        const float* const at = shared + k * T::kConv2Stride;
#pragma unroll
        for (int g = 0; g < kTapGroups; ++g) conv2[k].groups[g] = load_group(at + g * kLaneGroups + 4 * lane);
        conv2[k].last = __ldg(at + kTapGroups * kLaneGroups + lane);
      }
      bias2 = __ldg(packed + T::kBias2At + Places<T>::map_of(share, lane));
    }
  }
  __device__ __forceinline__ void load_fc1(const float* packed, int rank) {
    const float* const own = packed + T::kFc1At + rank * T::kFc1Share + fc1_at();
#pragma unroll
    for (int i = 0; i < T::kFc1Outputs; ++i) fc1[i] = load_group(own + i * kLaneGroups);
  }
  /// `share`: the block's, in shared memory.
  __device__ __forceinline__ void load_fc1_share(const float* share) {
    const float* const own = share + fc1_at();
#pragma unroll
    for (int i = 0; i < T::kFc1Outputs; ++i) fc1[i] = *reinterpret_cast<const float4*>(own + i * kLaneGroups);
  }

 private:
  /// The thread's first weights of fc1 in the block's share.
  static __device__ __forceinline__ int fc1_at() {
    return warp_of() * T::kFc1Outputs * kLaneGroups + 4 * lane_of();
  }
};

/// The parameters of the leader's last layers.
template <class T>
struct TailWeights {
  float4 fc2[T::kFc2Outputs][2], fc3[7];
  float bias_f1, bias_f2, bias_f3;

  /// `tail`: in shared or in device memory.
  __device__ __forceinline__ void load(const float* tail) {
    const int lane = lane_of(), warp = warp_of(), thread = static_cast<int>(threadIdx.x);
    const auto group = [&](int at) { return *reinterpret_cast<const float4*>(tail + at + 4 * lane); };
    if (warp < T::kFc2Warps) {
#pragma unroll
      for (int i = 0; i < 2 * T::kFc2Outputs; ++i) {
        fc2[i / 2][i % 2] = group(T::kFc2InTail + (warp * 2 * T::kFc2Outputs + i) * kLaneGroups);
      }
    }
    bias_f1 = tail[T::kBiasF1InTail + min(thread, kF1 - 1)];
    const int index = min(kept_value<8, T::kFc2Outputs>(lane), T::kFc2Outputs - 1);
    bias_f2 = tail[T::kBiasF2InTail + min((2 * warp + (lane >> 4)) * T::kFc2Outputs + index, kF2 - 1)];
    if (warp == 0) {
#pragma unroll
      for (int i = 0; i < 7; ++i) fc3[i] = group(T::kFc3InTail + i * kLaneGroups);
      bias_f3 = tail[T::kBiasF3InTail + lane % fused_lenet5::kClasses];
    }
  }
};

}  // namespace lenslet::cluster_lenet5
