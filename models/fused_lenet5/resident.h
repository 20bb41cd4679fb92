// ResidentLenet5: a kernel that stays on the GPU and watches for images, for an answer within a few microseconds.
//
// Launching a kernel and waiting for it takes longer than LeNet-5 itself. This launches once; afterwards an image is 112 words
// written to page-locked memory, and an answer a word that appears there. It takes as many multiprocessors as its cluster
// has blocks, 16 of an H200's 132, and leaves the others to whoever runs on other streams.
#pragma once

#include <memory>

#include "framework/device.h"
#include "framework/io/safetensors.h"
#include "framework/tensor.h"

namespace lenslet {

/// Where and how long a resident kernel stays.
struct ResidentOptions {
  Device device = Device::cuda();  // a GPU
  /// A kernel without work ends after this time, and with work after the lease; the next image launches it again, some 20
  /// microseconds that one image waits. So it spins for nobody when a program has crashed or lost interest, and calls that
  /// wait for the whole device (cudaFree, cudaDeviceSynchronize, the first use of a kernel) get their turn.
  int64_t idle_ms = 100;
  int64_t lease_ms = 1000;  // most that a kernel runs, under load too, before the next one is launched
};

/// fp32, with the weights of make_lenet5. One thread at a time; any number of objects, each with a kernel of its own.
class ResidentLenet5 {
 public:
  /// Images that may be submitted and not yet waited for.
  static constexpr int64_t kMaxBatch = 64;

  /// Throws UnavailableError with the reason where there is no GPU with clusters (compute capability 9.0), DeviceError,
  /// MemoryError.
  explicit ResidentLenet5(const Safetensors& weights, const ResidentOptions& options = {});
  /// Ends the kernel and waits for it.
  ~ResidentLenet5();
  ResidentLenet5(const ResidentLenet5&) = delete;
  ResidentLenet5& operator=(const ResidentLenet5&) = delete;

  /// Copies `count` images of 28x28 bytes to the kernel's slots and returns. Throws UsageError for more than kMaxBatch
  /// images under way.
  void submit(const uint8_t* images, int64_t count);
  /// Waits for the next `count` answers, in the order of submission. `predictions` [count] and `logits` [count, 10]; either may be
  /// null. Throws UsageError for more than are under way, DeviceError where the kernel failed or gave no answer within
  /// device_timeout_s().
  void wait(int64_t count, Prediction* predictions, float* logits = nullptr);
  /// submit() and wait().
  void classify(const uint8_t* images, int64_t count, Prediction* predictions) {
    submit(images, count);
    wait(count, predictions);
  }
  /// Ends the kernel until the next submit(). Throws UsageError while images are under way.
  void suspend();

  /// Times it was launched.
  int64_t launches() const noexcept;
  /// Blocks of its cluster, each of which occupies a multiprocessor.
  int blocks() const noexcept;

 private:
  class Kernel;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace lenslet
