// The GPU side of ResidentLenet5: choice of the clusters, and their launch.
#include "framework/device/cluster_launch.cuh"
#include "framework/device/native_stream.h"
#include "framework/tensor/host_values.h"
#include "models/fused_lenet5/gpu/cluster/choices.h"
#include "models/fused_lenet5/gpu/cluster/parameters.h"
#include "models/fused_lenet5/gpu/resident/kernel.cuh"
#include "models/fused_lenet5/gpu/resident/launch.h"

namespace lenslet::cluster_lenet5 {
namespace {

/// The kernel for one cluster size.
struct ResidentChoice {
  void (*kernel)(ResidentArguments);
  ClusterShape shape;
};

template <int kBlocks>
ResidentChoice choice() {
  using T = Tile<kBlocks>;
  return {&fused_lenet5_resident_kernel<T>, {kBlocks, kThreads, ResidentTile<T>::kSharedBytes, false}};
}
ResidentChoice choice_of(int blocks) {
  return blocks == 8 ? choice<8>() : blocks == 4 ? choice<4>() : choice<2>();
}

}  // namespace

ResidentLaunch::ResidentLaunch(const Lenet5Parameters& parameters, int max_clusters, Stream& stream)
    : conv1_(pack_conv1(parameters, ElementType::kUint8, MathMode::kFp32)) {
  const Device device = stream.device();
  if (const Support support = fused_lenet5::cluster_support("a resident kernel", find_gpu(device)); !support)
    throw UnavailableError(support.reason());
  const DeviceGuard guard(device);
  const fused_lenet5::SmallLaunch launch = fused_lenet5::resident_launch(max_clusters, [](int blocks) {
    const ResidentChoice choice = choice_of(blocks);
    return clusters_at_once(reinterpret_cast<const void*>(choice.kernel), choice.shape);
  });
  clusters_ = launch.clusters;
  blocks_ = launch.blocks;
  if (clusters_ == 0)
    throw UnavailableError(
        "a resident kernel: no cluster of 2 to 8 blocks fits on this GPU: use another backend");
  packed_ = uploaded(pack_parameters(parameters, blocks_, MathMode::kFp32), stream);
  stream.synchronise();
}

void ResidentLaunch::enqueue(resident::Memory* memory, const resident::Turn& turn, Stream& stream) const {
  const DeviceGuard guard(stream.device());
  const ResidentChoice choice = choice_of(blocks_);
  launch_clusters("fused_lenet5_resident_kernel", choice.kernel, clusters_, choice.shape, stream,
                  ResidentArguments{memory, packed_.as<float>(), turn, conv1_});
}

void throw_on_failure(Stream& stream) {
  const cudaError_t error = cudaStreamQuery(native(stream));
  if (error != cudaSuccess && error != cudaErrorNotReady)
    throw_cuda_error(error, "cudaStreamQuery", __FILE__, __LINE__);
}

}  // namespace lenslet::cluster_lenet5
