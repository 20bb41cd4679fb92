// Ways for a few images of bytes to get from the host's memory through the fused LeNet-5, and their predictions back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/device.h"
#include "framework/io/safetensors.h"
#include "framework/math_mode.h"
#include "framework/tensor.h"

namespace lenslet {

/// Modes of passing a small batch from host memory through the network and back.
enum class LatencyMode {
  kCopy,     // one CUDA graph: copy in, kernel, copy out; then the stream is waited for
  kMapped,   // the kernel reads and writes page-locked host memory; then the stream is waited for
  kPolled,   // as kMapped, but the host polls the predictions instead of waiting for the stream
  kResident  // a kernel that stays on the GPU and polls for images (resident.h); fp32 only
};

/// All, in this order.
const std::vector<LatencyMode>& latency_modes();
/// "copy", "mapped", "polled", "resident".
const char* to_string(LatencyMode mode);

/// One thread at a time.
class LatencyRunner {
 public:
  static constexpr int64_t kMaxBatch = 64;  // images of one call

  /// Throws UnavailableError with the reason (no GPU, no clusters, a math mode that the mode has not), UsageError for a
  /// batch outside 1..kMaxBatch.
  LatencyRunner(const Safetensors& weights, LatencyMode mode, Device device, MathMode math, int64_t batch);
  ~LatencyRunner();
  LatencyRunner(const LatencyRunner&) = delete;
  LatencyRunner& operator=(const LatencyRunner&) = delete;

  /// Classifies `batch` images of 28x28 bytes; the answers are there when it returns. Copying into and out of
  /// page-locked
  /// memory is inside. Throws DeviceError.
  void run(const uint8_t* images, Prediction* predictions);
  /// What runs: "small, 1 clusters of 16 blocks, an image each".
  std::string detail() const;

 private:
  class Way;
  class Launched;
  class Resident;
  std::unique_ptr<Way> way_;
};

}  // namespace lenslet
