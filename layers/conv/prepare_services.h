// What a convolution backend may use while it is prepared: device memory, uploads and
// timing, on any kind of device.
#pragma once

#include "framework/layer.h"

namespace lenslet {

/// Serves one stream; must not outlive it. The memory handed out may.
class DevicePrepareServices : public PrepareServices {
 public:
  /// How time_ns() times: the median of several blocks, or one run, for tests that need a choice and not the best.
  enum class Timing { kMedian, kOnce };
  /// On the stream's device; copies go through the stream.
  explicit DevicePrepareServices(Stream& stream, Timing timing = Timing::kMedian)
      : stream_(stream), timing_(timing) {}
  std::shared_ptr<void> allocate(size_t bytes) override;
  std::shared_ptr<float> upload(const float* host, size_t count) override;
  double time_ns(const std::function<void()>& enqueue) override;
  void download(float* host, const float* device, size_t count) override;

 private:
  Stream& stream_;
  Timing timing_;
};

}  // namespace lenslet
