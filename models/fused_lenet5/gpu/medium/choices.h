// Internal: what a GPU decides about `medium`: see ../choices.h.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/tensor/math_mode.h"
#include "models/fused_lenet5/gpu/choices.h"
#include "models/fused_lenet5/gpu/medium/layout.h"

namespace lenslet::fused_lenet5 {

inline Support medium_support(const std::optional<GpuTraits>& gpu) {
  const Support clusters = cluster_support("medium", gpu);
  if (!clusters || !gpu) return clusters;
  return needs_shared_bytes("medium", medium_lenet5::Layout::kSharedBytes, *gpu, "use another backend");
}

/// Chosen by hand: up to three turns of ten images for each multiprocessor, and in tf32, where a pass takes as long as
/// in fp32, up to six images. Beyond that `fp32` and in tf32 `mma` take over: with 768 images `mma` took 12.33 us in
/// tf32, this 11.36 in fp32 (docs/results/2026-11-30-h200/bench-batches.json).
inline bool medium_suits(MathMode math, int64_t batch, const std::optional<GpuTraits>& gpu) {
  const int64_t images = math == MathMode::kTf32 ? 6 : 3 * medium_lenet5::Layout::kImages;
  return batch <= images * multiprocessors_of(gpu);
}

}  // namespace lenslet::fused_lenet5
