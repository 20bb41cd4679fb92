// Stream and Event: ordered asynchronous work on one device, and points in it that can be timed.
// On the CPU work runs immediately in the calling thread, and an event is a reading of the steady clock.
#pragma once

#include <cstdint>
#include <memory>

#include "framework/device/device.h"

namespace lenslet {

class Event;

/// Owns one CUDA stream (non-blocking with respect to the default stream), borrows one, or represents the CPU. Movable.
class Stream {
 public:
  /// Creates a stream on the device. Throws DeviceError.
  explicit Stream(Device device);
  /// A caller's cudaStream_t of that GPU, which stays the caller's; null means its default stream.
  static Stream borrowed(Device device, void* handle) noexcept;
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// The device that runs its work.
  Device device() const noexcept { return device_; }
  /// The cudaStream_t, as void* so that no CUDA type is needed here; nullptr on the CPU.
  void* native_handle() const noexcept { return handle_; }
  /// Waits for all enqueued work. Throws DeviceError if any of it failed or device_timeout_s() passed.
  void synchronise();
  /// Holds later work of this stream back until the event has been passed.
  void wait_for(const Event& event);
  /// A number of the capture that records this stream's work into a graph; 0 if it runs. Throws DeviceError if the
  /// capture has failed.
  uint64_t capture_id() const;

 private:
  Stream() = default;

  Device device_;
  void* handle_ = nullptr;
  bool owned_ = true;
};

/// A point in a stream. Movable.
class Event {
 public:
  /// Creates an event that is not recorded yet. Throws DeviceError.
  explicit Event(Device device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Records the event after the work enqueued so far.
  void record(Stream& stream);
  /// Waits until the stream has passed it. Throws like Stream::synchronise().
  void synchronise();
  /// Nanoseconds from `earlier` to this event. Both must be recorded and completed.
  double ns_since(const Event& earlier) const;

 private:
  friend class Stream;

  Device device_;
  void* handle_ = nullptr;
  double host_ns_ = 0;
};

/// Makes `device` the current CUDA device of this thread until destroyed; does nothing for the CPU.
class DeviceGuard {
 public:
  /// Throws DeviceError.
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = -1;  // to be made current again; -1: none
};

/// Throws DeviceError after an unchecked launch failure of this thread; does nothing for the CPU.
void throw_on_unreported_error(Device device);

/// A captured sequence of work, replayed with one launch. CUDA only.
class CapturedGraph {
 public:
  /// Captures the work that `enqueue` puts on `stream` as one CUDA graph, without running it.
  template <typename Enqueue>
  static CapturedGraph capture(Stream& stream, Enqueue&& enqueue) {
    Capture guard(stream);
    enqueue();
    return guard.finish();
  }
  CapturedGraph() = default;
  ~CapturedGraph();
  CapturedGraph(CapturedGraph&& other) noexcept;
  CapturedGraph& operator=(CapturedGraph&& other) noexcept;
  /// False for a default-constructed or moved-from object.
  explicit operator bool() const noexcept { return exec_ != nullptr; }
  /// Enqueues one replay.
  void launch(Stream& stream) const;

 private:
  class Capture {
   public:
    explicit Capture(Stream& stream);
    ~Capture();
    CapturedGraph finish();

   private:
    Stream& stream_;
    bool open_ = true;
  };
  void* exec_ = nullptr;
};

}  // namespace lenslet
