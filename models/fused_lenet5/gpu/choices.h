// Internal: what a GPU decides about several whole-network backends of the GPU. A choices.h in a folder adds what it
// decides about the backends there: whether they run, up to which batch `auto` takes them, and how they are launched.
// Pure functions of the GPU's limits, so that they can be tested for GPUs that are not there. Without a GPU the answer
// depends only on the request.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/device/gpu_limits.h"

namespace lenslet::fused_lenet5 {

/// No, with a reason that names `who`, for a GPU without clusters of blocks.
inline Support cluster_support(const char* who, const std::optional<GpuTraits>& gpu) {
  if (!gpu) return Support::yes();
  return needs_capability(concat(who, " launches clusters of blocks: it needs"), GpuLimits::kClusters,
                          gpu->compute_capability, "use another backend");
}

/// For the batches that suit a backend; those of an H100 or H200 if there is no such GPU.
inline int64_t multiprocessors_of(const std::optional<GpuTraits>& gpu) {
  constexpr int kH200Multiprocessors = 132;
  return gpu ? gpu->multiprocessors : kH200Multiprocessors;
}

}  // namespace lenslet::fused_lenet5
