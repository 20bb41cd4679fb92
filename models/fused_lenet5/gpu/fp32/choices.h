// Internal: what a GPU decides about `fp32`: see ../choices.h.
#pragma once

#include <cstdint>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_limits.h"

namespace lenslet::fused_lenet5 {

/// Images of a thread of fp32's linear kernel: the most that fit the GPU's shared memory and leave no multiprocessor
/// without a block, because more images need fewer loads per product. `shared_bytes(each)`: of a block.
template <typename SharedBytes>
int fp32_images_per_thread(int64_t images, const GpuTraits& gpu, const SharedBytes& shared_bytes) {
  for (const int each : {8, 4, 2}) {
    const bool fits = shared_bytes(each) <= gpu.shared_bytes_per_block_optin;
    if (fits && ceil_div(images, int64_t{16} * each) >= gpu.multiprocessors) return each;
  }
  return 1;
}

}  // namespace lenslet::fused_lenet5
