// CacheFlush: leaves nothing of a working set in a device's last-level cache.
#pragma once

#include "framework/stream.h"
#include "framework/tensor.h"

namespace lenslet {

class CacheFlush {
 public:
  /// Takes twice the last-level cache of memory on the device.
  explicit CacheFlush(Device device);
  /// Enqueues writing all of it.
  void enqueue(Stream& stream);

 private:
  Buffer buffer_;
  int byte_ = 0;
};

}  // namespace lenslet
