// Internal: what a GPU decides about the whole-network backends of the GPU: whether they run there, up to which batch
// `auto` takes them, and how they are launched. Pure functions of the GPU's limits, so that they can be tested for
// GPUs that are not there. Without a GPU the answer depends only on the request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "framework/base/integer_math.h"
#include "framework/device/gpu_limits.h"
#include "framework/tensor/math_mode.h"
#include "models/fused_lenet5/gpu/medium/layout.h"
#include "models/fused_lenet5/gpu/mma/kernels.h"

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

/// Half as many images as multiprocessors: the smallest cluster has two blocks, so for larger batches not all clusters
/// run at once. In no math the next backend is faster with one image more: bench-batches.json of 2026-11-28-h200.
inline bool small_suits(int64_t batch, const std::optional<GpuTraits>& gpu) {
  return batch <= multiprocessors_of(gpu) / 2;
}

/// The launch of `small` or of the resident kernel: its clusters, and blocks of each.
struct SmallLaunch {
  int blocks = 0, clusters = 0;
};

/// The launch for `count` images. More blocks per image are faster, as long as all images run at once.
/// `clusters_at_once(blocks)`: how many clusters of that size run at once on the GPU, 0 if none fits. No clusters if
/// no size fits.
template <typename ClustersAtOnce>
SmallLaunch small_launch(int64_t count, const ClustersAtOnce& clusters_at_once) {
  // Beyond this number of images smaller clusters are taken even if the larger ones fit. Chosen by hand: clusters of
  // 16, 8 and 4 blocks then take up to 16, 64 and 64 multiprocessors.
  const auto max_images = [](int blocks) {
    return blocks == 16 ? 1 : blocks == 8 ? 8 : blocks == 4 ? 16 : INT32_MAX;
  };
  SmallLaunch launch;
  for (const int blocks : {16, 8, 4, 2}) {
    const int at_once = clusters_at_once(blocks);
    if (at_once == 0) continue;
    launch = {blocks, static_cast<int>(std::min<int64_t>(at_once, count))};
    if (count <= std::min(at_once, max_images(blocks))) break;
  }
  return launch;
}

/// The resident kernel: as many clusters as run at once, a power of two up to max_clusters, with the most blocks that
/// fit, up to 8: sending an image to 16 takes longer than they save. No clusters if none of 2 blocks fits.
/// `clusters_at_once` as above.
template <typename ClustersAtOnce>
SmallLaunch resident_launch(int max_clusters, const ClustersAtOnce& clusters_at_once) {
  SmallLaunch launch;
  for (const int blocks : {8, 4, 2}) {
    const int fit = std::min(max_clusters, clusters_at_once(blocks));
    int clusters = std::min(fit, 1);
    while (clusters > 0 && 2 * clusters <= fit) clusters *= 2;
    if (clusters > launch.clusters) launch = {blocks, clusters};
  }
  return launch;
}

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
