// Copies of the tensor memory accelerator (TMA), from compute capability 9.0 on. Internal: includes CUDA. PTX ISA,
// "cp.async.bulk.tensor" and "prefetch.tensormap".
#pragma once

#include <cuda.h>

#include <cstdint>

#include "framework/instructions/architecture.cuh"

namespace lenslet {

/// Fetches the description before the first copy needs it. `map` is a __grid_constant__ parameter.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap& map) {
  LENSLET_FROM_SM(90, asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(&map))
                                   : "memory"));
}
/// Where an im2col copy begins: a pixel of the bounding box, how far its tap lies from it, and the first channel.
struct Im2colStart {
  int n, h, w, h_offset, w_offset, c;
};
/// Starts an im2col copy of one box from a tensor [N, H, W, C]: the map's number of pixels, each with the map's number
/// of channels. Places outside of the tensor become zero. `barrier` must expect the bytes of a whole box.
__device__ __forceinline__ void im2col_copy(uint32_t target, const CUtensorMap& map, const Im2colStart& start,
                                            uint32_t barrier) {
  LENSLET_FROM_SM(
      90,
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
          "{%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(target),
          "l"(reinterpret_cast<uint64_t>(&map)), "r"(start.c), "r"(start.w), "r"(start.h), "r"(start.n),
          "r"(barrier), "h"(static_cast<uint16_t>(start.w_offset)), "h"(static_cast<uint16_t>(start.h_offset))
          : "memory"));
}

}  // namespace lenslet
