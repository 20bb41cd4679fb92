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
/// Starts an im2col copy from a tensor [N, H, W, C]: the map's pixels from pixel (n, h, w) of its bounding box on, each
/// moved by (`down`, `right`), of each the map's channels from `c` on. `barrier` must expect the bytes of a whole box;
/// what lies outside of the tensor becomes zero.
__device__ __forceinline__ void im2col_copy(uint32_t target, const CUtensorMap& map, int c, int w, int h,
                                            int n, int right, int down, uint32_t barrier) {
  LENSLET_FROM_SM(
      90, asm volatile(
              "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
              "{%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(target),
              "l"(reinterpret_cast<uint64_t>(&map)), "r"(c), "r"(w), "r"(h), "r"(n), "r"(barrier),
              "h"(static_cast<uint16_t>(right)), "h"(static_cast<uint16_t>(down))
              : "memory"));
}

}  // namespace lenslet
