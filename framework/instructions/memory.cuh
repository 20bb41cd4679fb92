// Loads of global memory past a cache. Internal: includes CUDA. PTX ISA, "ld".
#pragma once

#include <cstdint>

namespace lenslet {

/// From L2, past L1.
__device__ __forceinline__ uint4 load_past_l1(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}

}  // namespace lenslet
