// Services for a convolution backend while it is prepared: device memory, uploads and timing, on any kind of device.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// The services for one stream, which must outlive this object. The allocated memory may live longer.
class DevicePrepareServices : public PrepareServices {
 public:
  /// How time_ns() measures: the median of several blocks; or one run, for tests that need any choice.
  enum class Timing { kMedian, kOnce };
  /// On the stream's device; copies go through the stream.
  explicit DevicePrepareServices(Stream& stream, Timing timing = Timing::kMedian)
      : stream_(stream), timing_(timing) {}
  std::shared_ptr<void> allocate(size_t bytes) override;
  std::shared_ptr<float> upload(const float* host, size_t count) override;
  double time_ns(EnqueuedWork enqueue) override;
  void download(float* host, const float* device, size_t count) override;

 private:
  Stream& stream_;
  Timing timing_;
};

}  // namespace lenslet
