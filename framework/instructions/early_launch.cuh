// Early launch: kernels that begin before the launch before them ends. CUDA calls it programmatic dependent launch. It
// exists from compute capability 9.0 on. On earlier GPUs, or launched without the attribute, both calls do nothing.
// Internal: includes CUDA. PTX ISA, "griddepcontrol".
#pragma once

#include "framework/instructions/architecture.cuh"

namespace lenslet {

/// Lets the next launch begin before this one ends; it waits in wait_for_launch_before().
__device__ __forceinline__ void let_next_launch_begin() {
  LENSLET_FROM_SM_OR(90,
                     asm volatile("griddepcontrol.launch_dependents;" ::
                                      : "memory"),
                     static_cast<void>(0));
}
/// Waits for earlier launches. Before it, do not read what they write, and do not write what they read. Every block
/// calls it, so that this launch does not end before the earlier ones.
__device__ __forceinline__ void wait_for_launch_before() {
  LENSLET_FROM_SM_OR(90, asm volatile("griddepcontrol.wait;" ::: "memory"), static_cast<void>(0));
}

/// Both, for kernels that do nothing before they read their inputs.
__device__ __forceinline__ void overlap_launches() {
  let_next_launch_begin();
  wait_for_launch_before();
}

}  // namespace lenslet
