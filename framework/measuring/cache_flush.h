// CacheFlush: displaces a working set from a device's last-level cache.
#pragma once

#include "framework/device/stream.h"
#include "framework/tensor/tensor.h"

namespace lenslet {

class CacheFlush {
 public:
  /// Allocates twice the last-level cache on the device. Throws MemoryError.
  explicit CacheFlush(Device device);
  /// Enqueues a write of that memory.
  void enqueue(Stream& stream);

 private:
  Buffer buffer_;
  int byte_ = 0;
};

}  // namespace lenslet
