// Arithmetic that CUDA has no function for. Internal: includes CUDA. PTX ISA, "max".
#pragma once

#include "framework/instructions/architecture.cuh"
#include "framework/tensor/keep_nan.h"

namespace lenslet {

/// The larger value; NaN if either is NaN. One instruction from compute capability 8.0 on, a comparison and a selection
/// before. With 0 it is ReLU, with -infinity it does nothing.
__device__ __forceinline__ float max_keep_nan(float a, float b) {
  float result;
  LENSLET_FROM_SM_OR(80,
                     asm("max.NaN.f32 %0, %1, %2;"
                         : "=f"(result)
                         : "f"(a), "f"(b)),
                     result = larger(a, b));
  return result;
}

}  // namespace lenslet
