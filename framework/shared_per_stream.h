// One object of a library for each device and stream, shared by all who ask for it while someone holds it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/stream.h"

namespace lenslet {

/// The T of this stream, made by T() for the first who asks: a library's handle takes milliseconds and device memory,
/// so a graph's layers share it.
template <typename T>
std::shared_ptr<T> shared_per_stream(const Stream& stream) {
  static std::mutex mutex;
  static std::map<std::pair<int, void*>, std::weak_ptr<T>> objects;
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<T>& slot = objects[{stream.device().ordinal, stream.native_handle()}];
  std::shared_ptr<T> object = slot.lock();
  if (!object) slot = object = std::make_shared<T>();
  return object;
}

}  // namespace lenslet
