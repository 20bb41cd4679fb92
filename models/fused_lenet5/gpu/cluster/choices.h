// Internal: what a GPU decides about `small` and the resident kernel: see ../choices.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "models/fused_lenet5/gpu/choices.h"

namespace lenslet::fused_lenet5 {

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

}  // namespace lenslet::fused_lenet5
