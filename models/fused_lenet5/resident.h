// ResidentLenet5: a kernel that stays on the GPU and polls for images, for answers within a few microseconds.
//
// Launching a kernel and waiting for it takes longer than LeNet-5 itself. This kernel is launched once. Afterwards the
// host writes an image as 113 words to page-locked memory, and the answer appears there as one word. The kernel
// occupies one multiprocessor per block of its clusters, with one cluster 8 of an H200's 132. Other streams can use the
// rest. More clusters answer more images at a time and leave fewer multiprocessors to others.
#pragma once

#include <cstdint>
#include <memory>

#include "framework/device/device.h"
#include "framework/io/safetensors.h"
#include "models/prediction.h"

namespace lenslet {

/// The device of a resident kernel and its time limits.
struct ResidentOptions {
  Device device = Device::cuda();  // a GPU
  /// Milliseconds after which a cluster without work ends; with work it ends after the lease. The next image for it
  /// launches the kernel again and waits some dozen microseconds for that. So the kernel ends if its program has
  /// crashed or sends no more images, and calls that wait for the whole device (cudaFree, cudaDeviceSynchronize, the
  /// first use of a kernel) can proceed.
  int64_t idle_ms = 100;
  int64_t lease_ms = 1000;  // longest run of a kernel, also under load, before the next one is launched
  /// Clusters that take images in turn, 1 to ResidentLenet5::kMaxClusters. The largest power of two up to it that the
  /// GPU runs at once is launched, with as many blocks each as fit.
  int max_clusters = 1;
};

/// Computes in fp32 with the weights of make_lenet5. One thread at a time per object; each object has its own kernel.
class ResidentLenet5 {
 public:
  /// Largest number of images that are submitted and not yet waited for: the slots of the protocol.
  static constexpr int64_t kMaxBatch = 64;
  /// Largest ResidentOptions::max_clusters: one for each slot. On an H200 they occupy nearly every multiprocessor.
  static constexpr int kMaxClusters = 64;

  /// Throws UsageError for options out of range, UnavailableError with the reason if there is no GPU with clusters
  /// (compute capability 9.0), DeviceError, MemoryError.
  explicit ResidentLenet5(const Safetensors& weights, const ResidentOptions& options = {});
  /// Ends the kernel and waits for it.
  ~ResidentLenet5();
  ResidentLenet5(const ResidentLenet5&) = delete;
  ResidentLenet5& operator=(const ResidentLenet5&) = delete;

  /// Copies `count` images of 28x28 bytes to the kernel's slots and returns. Throws UsageError if more than kMaxBatch
  /// images would be in flight.
  void submit(const uint8_t* images, int64_t count);
  /// Waits for the next `count` answers, in the order of submission. `predictions` [count] and `logits` [count, 10];
  /// either may be null. Throws UsageError for more answers than images in flight, DeviceError if the kernel failed or
  /// gave no answer within device_timeout_s().
  void wait(int64_t count, Prediction* predictions, float* logits = nullptr);
  /// submit() and wait().
  void classify(const uint8_t* images, int64_t count, Prediction* predictions) {
    submit(images, count);
    wait(count, predictions);
  }
  /// Ends the kernel until the next submit(). Throws UsageError while images are in flight.
  void suspend();

  /// Number of launches so far, each of all clusters.
  int64_t launches() const noexcept;
  /// Clusters that run.
  int clusters() const noexcept;
  /// Blocks of a cluster; each occupies a multiprocessor.
  int blocks() const noexcept;

 private:
  class Kernel;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace lenslet
