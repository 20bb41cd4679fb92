// Kernels that begin before the launch before them ends (programmatic dependent launch), from compute capability 9.0
// on. On earlier GPUs, or launched without the attribute, both calls do nothing. Internal: includes CUDA. PTX ISA,
// "griddepcontrol".
#pragma once

namespace lenslet {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define LENSLET_GRID_DEPENDENCY(...) asm volatile(__VA_ARGS__)
#else
#define LENSLET_GRID_DEPENDENCY(...) static_cast<void>(0)
#endif

/// Lets the next launch begin before this one ends; it waits in wait_for_launch_before().
__device__ __forceinline__ void let_next_launch_begin() {
  LENSLET_GRID_DEPENDENCY("griddepcontrol.launch_dependents;" ::: "memory");
}
/// Waits for earlier launches. Before it, do not read what they write, and do not write what they read. Every block
/// calls it, so that the launch does not end before those.
__device__ __forceinline__ void wait_for_launch_before() {
  LENSLET_GRID_DEPENDENCY("griddepcontrol.wait;" ::: "memory");
}

/// Both, for kernels that do nothing before they read their inputs.
__device__ __forceinline__ void overlap_launches() {
  let_next_launch_begin();
  wait_for_launch_before();
}

#undef LENSLET_GRID_DEPENDENCY

}  // namespace lenslet
