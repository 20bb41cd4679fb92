// Internal: the GPU side of ResidentLenet5.
#pragma once

#include "framework/tensor/tensor.h"
#include "models/fused_lenet5/gpu/cluster/tile.h"
#include "models/fused_lenet5/network_backend.h"
#include "models/fused_lenet5/resident_protocol.h"

namespace lenslet::cluster_lenet5 {

/// A resident kernel with its parameters on the device of `stream`.
class ResidentLaunch {
 public:
  /// Throws UnavailableError with the reason, DeviceError, MemoryError.
  ResidentLaunch(const Lenet5Parameters& parameters, int max_clusters, Stream& stream);
  /// How many run at once: a power of two up to max_clusters.
  int clusters() const noexcept { return clusters_; }
  /// The blocks of a cluster.
  int blocks() const noexcept { return blocks_; }
  /// Enqueues all clusters for one turn.
  void enqueue(resident::Memory* memory, const resident::Turn& turn, Stream& stream) const;

 private:
  Conv1Parameters conv1_;
  Buffer packed_;
  int clusters_ = 0, blocks_ = 0;
};

/// Throws DeviceError if work on the stream failed. Does not wait.
void throw_on_failure(Stream& stream);

}  // namespace lenslet::cluster_lenet5
