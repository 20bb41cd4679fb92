// DeviceSet: computes calls on several devices at once. Each device has threads of its own, on processors near it,
// which take the chunks of a call (api/chunks.h) as fast as the device computes them: a slow one takes fewer. Chunks of
// a device that fails go to the others. Internal: Model uses it.
//
// A device fails when its work throws DeviceError or MemoryError. After a DeviceError it is left out for good; after a
// MemoryError for that call. Any other exception ends the call.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/feed.h"
#include "api/model.h"
#include "framework/base/own_threads.h"
#include "framework/device/device.h"

namespace lenslet {

/// Not thread-safe.
class DeviceSet {
 public:
  /// Starts the threads. A device that this process has lost before is left out. Throws MemoryError if the system
  /// refuses a thread.
  explicit DeviceSet(const std::vector<Device>& devices);

  size_t size() const noexcept { return members_.size(); }
  /// Threads of each device: those of num_threads() divided by the devices, at most Feed::kMaxLanes.
  int threads_of_each() const noexcept { return threads_; }
  /// By device, what it did in all calls.
  std::vector<DeviceShare> shares() const;

  /// Calls `body` in a thread near device `i` and waits. Rethrows what it throws.
  void near(size_t i, const std::function<void()>& body);
  /// Calls near(i, body) for each device that is not left out, one after another. Returns for each whether it was
  /// called and did not fail.
  std::vector<bool> on_each(const std::function<void(size_t)>& body);
  /// Whether device `i` is not left out for good.
  bool has(size_t i) const noexcept { return !members_[i]->lost; }
  /// Calls body(i) in this thread for one device after another until one does not fail. Returns the number of images
  /// that it computed, which count as that device's. Throws like throw_nothing_left().
  int64_t on_one(const std::function<int64_t(size_t)>& body);
  /// Throws DeviceError, or MemoryError if none of them was lost, with the reason of each device.
  [[noreturn]] void throw_nothing_left() const;

  /// As Feed::run(), with the lanes of all `feeds`; they are by device, and null for those that take no part. The
  /// devices that fail hand their chunks to the others. `progress` is also called while nothing lands.
  int64_t run(const std::vector<Feed*>& feeds, const void* images, int64_t count, Answers answers,
              InputOutput types, const Progress& progress);

 private:
  struct Member {
    Member(Device its_device, int count);

    Device device;
    OwnThreads threads;
    std::atomic<bool> off{false};    // takes no more chunks of this call
    std::atomic<int64_t> images{0};  // landed
    bool lost = false;               // left out for good
    std::string fault;               // the last; empty: none
  };
  /// The threads that serve one call.
  class Serving;

  /// Calls `body`; notes in the member that it failed. Returns whether it did not. Other exceptions leave it.
  bool attempt(Member& member, const std::function<void()>& body);

  int threads_;
  std::vector<std::unique_ptr<Member>> members_;
  std::mutex mutex_;  // of `lost` and `fault` of the members, and of `fatal_`
  std::exception_ptr fatal_;
  Chunks chunks_;
};

}  // namespace lenslet
