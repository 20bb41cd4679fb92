// Internal: what a GPU decides about `mma`: see ../choices.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_limits.h"
#include "models/fused_lenet5/gpu/mma/kernels.h"

namespace lenslet::fused_lenet5 {

/// Whether fp16 `mma` convolves two images at a time in a warp, where the GPU has room for that. Taken beyond
/// three full rounds, chosen by hand: with fewer images the second slot of many warps would be empty.
inline bool mma_pairs_suit(int64_t batch, const MmaKernel& pairs, const GpuTraits& gpu) {
  return batch > int64_t{3} * pairs.warps * pairs.images_per_round * gpu.multiprocessors;
}

/// The launch of `mma`: the smallest number of rounds, with rounds as short as possible, so that the warps end
/// together.
struct MmaLaunch {
  int images_per_round = 0;
  int64_t blocks = 0;
};
inline MmaLaunch mma_launch(int64_t count, const MmaKernel& kernel, const GpuTraits& gpu) {
  const int64_t warps = int64_t{kernel.warps} * gpu.multiprocessors, at_once = warps * kernel.images_together;
  const int64_t rounds = ceil_div(count, warps * kernel.images_per_round);
  const int64_t images = ceil_div(count, at_once * rounds) * kernel.images_together;
  return {static_cast<int>(images), std::min<int64_t>(gpu.multiprocessors, ceil_div(count, images))};
}

}  // namespace lenslet::fused_lenet5
