// PolledLenet5: the whole-network LeNet-5 on a few images of bytes in host memory, with the shortest wait that a launch
// allows.
//
// One captured CUDA graph is a call. The kernel reads and writes page-locked host memory, and the host polls the
// predictions there instead of waiting for the stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "framework/device/device.h"
#include "framework/device/stream.h"
#include "framework/graph/layer.h"
#include "framework/io/safetensors.h"
#include "framework/tensor/math_mode.h"
#include "models/prediction.h"

namespace lenslet {

/// Not thread-safe.
class PolledLenet5 {
 public:
  /// Images per call, as many as ResidentLenet5 takes, so that both ways are compared at the same batches. For more
  /// images a call takes long enough for the wait for the stream to be a small part. Chosen by hand.
  static constexpr int64_t kMaxBatch = 64;

  /// Throws UnavailableError with the reason (no GPU, no clusters, an unsupported math mode), UsageError for a batch
  /// outside 1..kMaxBatch.
  PolledLenet5(const Safetensors& weights, Device device, MathMode math, int64_t batch);

  /// Classifies `batch` images of 28x28 bytes; returns when the answers are there. Includes the copies to and from
  /// page-locked memory. Throws DeviceError.
  void run(const uint8_t* images, Prediction* predictions);
  /// What runs: "small, 1 cluster of 16 blocks, an image each".
  std::string detail() const;

 private:
  uint64_t await(const uint64_t& word);

  size_t batch_;
  Stream stream_;
  PinnedBuffer images_, answers_;
  std::unique_ptr<Operator> operator_;
  CapturedGraph graph_;
};

}  // namespace lenslet
