// One library handle per device and stream, shared by all its users.
//
// An unused handle is kept for the next stream of its device: creating one takes milliseconds, and libraries do not
// release all memory of a destroyed handle (cuDNN 9.14 leaks 11 KiB of host memory each time).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/device/stream.h"

namespace lenslet {

/// Returns the T of this stream. The first call creates it by T() on the current device, which must be the stream's.
/// The user sets the stream on it before use.
template <typename T>
std::shared_ptr<T> shared_per_stream(const Stream& stream) {
  using Key = std::pair<int, void*>;
  struct Pool {
    std::mutex mutex;
    std::map<Key, std::weak_ptr<T>> in_use;
    std::multimap<int, std::unique_ptr<T>> idle;  // by device
  };
  // Never destroyed, because handles in use at the end of the program still return to it.
  static Pool& pool = *new Pool;
  const Key key{stream.device().ordinal, stream.native_handle()};
  std::lock_guard<std::mutex> lock(pool.mutex);
  std::weak_ptr<T>& slot = pool.in_use[key];
  if (std::shared_ptr<T> object = slot.lock()) return object;
  std::unique_ptr<T> object;
  if (const auto idle = pool.idle.find(key.first); idle != pool.idle.end()) {
    object = std::move(idle->second);
    pool.idle.erase(idle);
  } else {
    object = std::make_unique<T>();
  }
  std::shared_ptr<T> shared(object.release(), [key](T* unused) {
    std::lock_guard<std::mutex> guard(pool.mutex);
    pool.idle.emplace(key.first, unused);
    const auto found = pool.in_use.find(key);
    if (found != pool.in_use.end() && found->second.expired()) pool.in_use.erase(found);
  });
  slot = shared;
  return shared;
}

}  // namespace lenslet
