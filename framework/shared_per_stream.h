// One object of a library for each device and stream, shared by all who ask for it while someone holds it.
//
// One that nobody holds any more waits for the next stream of its device: libraries do not give back all of what a handle took
// (cuDNN 9.14: 11 KiB of host memory each time), and making one takes milliseconds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "framework/stream.h"

namespace lenslet {

/// The T of this stream, made by T() on the current device for the first who asks, which must be the stream's; whoever uses it
/// tells it the stream first.
template <typename T>
std::shared_ptr<T> shared_per_stream(const Stream& stream) {
  using Key = std::pair<int, void*>;
  struct Pool {
    std::mutex mutex;
    std::map<Key, std::weak_ptr<T>> in_use;
    std::multimap<int, std::unique_ptr<T>> idle;  // by device
  };
  // Never destroyed: what still is in use when the program ends comes back to it.
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
